// Text of a user's or a batch system's, and where in it something stands: what every grammar of
// hosts is read with.
//
// Thread rule: values and pure functions. Views are of the text given, which must outlive them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launcher {

// Counted from 1, in bytes; a byte order mark is not counted.
struct Place {
  std::size_t line = 1, column = 1;
};

struct Word {
  std::string_view text;
  Place place;

  // The part of it from byte `begin` on, at most `length` bytes.
  [[nodiscard]] Word part(std::size_t begin, std::size_t length = std::string_view::npos) const;
};

// `text` as it may stand in a message: at most 60 bytes, what would not print as \xNN.
[[nodiscard]] std::string excerpt(std::string_view text);

class LocatedText {
 public:
  enum class Kind { kFile, kValue };  // a file of lines; the value of a flag or variable

  LocatedText(Kind kind, std::string name, std::string_view text);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string_view text() const { return text_; }  // without a byte order mark

  // The same with other text of the same places, such as one without its comments.
  [[nodiscard]] LocatedText with(std::string_view text) const;

  // "hosts:3:7"; for a value its name alone.
  [[nodiscard]] std::string where(Place place) const;

  // Throws AllocationError: "hosts:3:7: MESSAGE", "--hosts, character 7: MESSAGE".
  [[noreturn]] void refuse(Place place, std::string_view message) const;

 private:
  Kind kind_;
  std::string name_;
  std::string_view text_;
};

// The lines of a text one after the other, the first included; LF and CRLF end one.
class LineWalk {
 public:
  explicit LineWalk(const LocatedText& text) : rest_(text.text()) {}

  [[nodiscard]] bool next();  // at first to the first line; false where there is none
  [[nodiscard]] Word line() const { return {line_, {number_, 1}}; }

 private:
  std::string_view rest_, line_;
  std::size_t number_ = 0;
};

// The parts of a line between blanks and tabs; none of them is empty.
[[nodiscard]] std::vector<Word> words_of(Word line);

// The parts of `word` between separators; they may be empty, and there is at least one.
[[nodiscard]] std::vector<Word> split(Word word, char separator);

}  // namespace lockstep::launcher
