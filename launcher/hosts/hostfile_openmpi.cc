// Open MPI's and PRRTE's hostfile, as their lexer and parser read it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "launcher/hosts/host_collection.h"
#include "launcher/hosts/host_name.h"
#include "launcher/hosts/hostfile.h"

namespace lockstep::launcher {
namespace {

enum class Key { kSlots, kMaxSlots, kUser, kPort, kUnused };

struct KeyName {
  std::string_view name;  // with '_' where '-' may stand
  Key key;
};
constexpr std::array kKeys = {KeyName{"slots", Key::kSlots},
                              KeyName{"cpu", Key::kSlots},
                              KeyName{"count", Key::kSlots},
                              KeyName{"max_slots", Key::kMaxSlots},
                              KeyName{"slots_max", Key::kMaxSlots},
                              KeyName{"max_cpu", Key::kMaxSlots},
                              KeyName{"cpu_max", Key::kMaxSlots},
                              KeyName{"max_count", Key::kMaxSlots},
                              KeyName{"count_max", Key::kMaxSlots},
                              KeyName{"user_name", Key::kUser},
                              KeyName{"username", Key::kUser},
                              KeyName{"port", Key::kPort},
                              KeyName{"boards", Key::kUnused},
                              KeyName{"sockets", Key::kUnused},
                              KeyName{"cores", Key::kUnused},
                              KeyName{"sockets_per_board", Key::kUnused},
                              KeyName{"cores_per_socket", Key::kUnused}};

// Words, with each '=' one of its own, whether blanks are around it or not.
std::vector<Word> tokens_of(Word line) {
  std::vector<Word> tokens;
  for (const Word word : words_of(line)) {
    std::size_t begin = 0;
    while (begin < word.text.size()) {
      const std::size_t equals = word.text.find('=', begin);
      const std::size_t end = std::max(std::min(equals, word.text.size()), begin + 1);
      tokens.push_back(word.part(begin, end - begin));
      begin = end;
    }
  }
  return tokens;
}

Key key_of(const LocatedText& text, Word word) {
  std::string name(word.text);
  std::ranges::replace(name, '-', '_');
  const auto found = std::ranges::find(kKeys, name, &KeyName::name);
  if (found != kKeys.end()) return found->key;
  text.refuse(word.place,
              fmt::format("expected slots=, max_slots=, user_name= or port=, found '{}' (DeepSpeed "
                          "skips what follows slots=8: --hostfile-format deepspeed)",
                          excerpt(word.text)));
}

void refuse_what_is_no_host(const LocatedText& text, Word word) {
  if (word.text.starts_with('^')) {
    text.refuse(word.place, fmt::format("'{}' excludes a host, which a list of hosts cannot: leave "
                                        "it out, or use --exclude",
                                        excerpt(word.text)));
  }
  if (word.text.starts_with('+')) {
    text.refuse(word.place, fmt::format("'{}' is a host relative to another list: write its name",
                                        excerpt(word.text)));
  }
}

class OpenMpiHostfile {
 public:
  explicit OpenMpiHostfile(const LocatedText& text) : text_(text), hosts_(text) {}

  void read_line(const std::vector<Word>& tokens) {
    const Word first = tokens.front();
    refuse_what_is_no_host(text_, first);
    if (first.text == "rank" && tokens.size() > 2 && tokens[2].text == "=") {
      text_.refuse(first.place,
                   "this is a line of a rankfile, which is not read: give a hostfile, whose order "
                   "is the ranks'");
    }
    AllocatedHost host = read_host(text_, first);
    for (std::size_t at = 1; at < tokens.size(); at += 3) read_key(host, tokens, at);
    if (host.max_slots && host.slots.value_or(*host.max_slots) > *host.max_slots) {
      text_.refuse(first.place, fmt::format("host '{}' has {} slots, above its maximum {}",
                                            host.name, *host.slots, *host.max_slots));
    }
    if (!host.slots) host.slots = host.max_slots;
    if (host.slots) {
      hosts_.add_new(std::move(host), first.place,
                     "slots= is for a host's first line; write their sum there");
    } else {
      hosts_.add_line(std::move(host), first.place);
    }
  }

  HostfileReading take() { return {.hosts = hosts_.take(), .notes = std::move(notes_)}; }

 private:
  void read_key(AllocatedHost& host, const std::vector<Word>& tokens, std::size_t at) {
    const Word word = tokens[at];
    const Key key = key_of(text_, word);
    if (at + 2 >= tokens.size() || tokens[at + 1].text != "=" || tokens[at + 2].text == "=")
      text_.refuse(word.place, fmt::format("expected {}=VALUE, found no value", word.text));
    const Word value = tokens[at + 2];
    const auto once = [&](bool already) {
      if (already)
        text_.refuse(word.place, fmt::format("'{}' is stated twice for one host", word.text));
    };
    switch (key) {
      case Key::kSlots:
        once(host.slots.has_value());
        host.slots = read_slots(text_, value);
        return;
      case Key::kMaxSlots:
        once(host.max_slots.has_value());
        host.max_slots = read_slots(text_, value);
        return;
      case Key::kUser:
        once(!host.user.empty());
        host.user = read_user(text_, value);
        return;
      case Key::kPort:
        once(host.port != 0);
        host.port = static_cast<std::uint16_t>(read_number(text_, value, "a port", {1, 65'535}));
        return;
      case Key::kUnused:
        if (notes_.size() < kMostNotes) {
          notes_.push_back(fmt::format("{}: '{}' is not used: what a host has is read there",
                                       text_.where(word.place), word.text));
        }
        return;
    }
  }

  static constexpr std::size_t kMostNotes = 10;

  const LocatedText& text_;
  HostCollection hosts_;
  std::vector<std::string> notes_;
};

}  // namespace

std::string without_openmpi_comments(const LocatedText& text) {
  std::string bare(text.text());
  Place open;  // of the block comment that is being read
  enum class Inside { kNothing, kLine, kBlock } inside = Inside::kNothing;
  Place place;
  for (std::size_t i = 0; i < bare.size(); ++i) {
    const std::string_view rest = std::string_view(bare).substr(i);
    if (bare[i] == '\n') {
      if (inside == Inside::kLine) inside = Inside::kNothing;
      place = {place.line + 1, 1};
      continue;
    }
    if (inside == Inside::kNothing) {
      if (rest.starts_with('#') || rest.starts_with("//")) inside = Inside::kLine;
      if (rest.starts_with("/*")) {
        inside = Inside::kBlock;
        open = place;
        bare[i + 1] = ' ';  // "/*/" is no comment that ends
      }
    } else if (inside == Inside::kBlock && rest.starts_with("*/")) {
      inside = Inside::kNothing;
      bare[i] = bare[i + 1] = ' ';
    }
    if (inside != Inside::kNothing) bare[i] = ' ';
    ++place.column;
  }
  if (inside == Inside::kBlock) text.refuse(open, "expected */ to end this comment, found none");
  return bare;
}

HostfileReading read_openmpi_hostfile(const LocatedText& text) {
  const std::string bare = without_openmpi_comments(text);
  const LocatedText uncommented = text.with(bare);
  OpenMpiHostfile hosts(uncommented);
  for (LineWalk lines(uncommented); lines.next();) {
    const std::vector<Word> tokens = tokens_of(lines.line());
    if (!tokens.empty()) hosts.read_line(tokens);
  }
  return hosts.take();
}

}  // namespace lockstep::launcher
