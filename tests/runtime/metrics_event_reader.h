// Reads TensorBoard's event files as TensorBoard does: whole records with good checksums, up to the
// first that is not all there yet.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/crc32c.h"

namespace lockstep::runtime::metrics::reader {

struct ReadScalar {
  std::string tag;
  std::optional<float> value;  // from simple_value, or from a tensor of one float
  std::string plugin;
};

struct ReadEvent {
  std::size_t offset = 0;
  double time = 0;
  std::int64_t step = 0;
  std::string file_version;
  std::optional<std::uint64_t> session_status;
  std::vector<ReadScalar> scalars;
};

struct ReadFile {
  std::vector<ReadEvent> events;
  std::size_t bytes_left = 0;  // after the last whole record
};

// A field of a protocol buffers message: a number, or bytes.
struct Field {
  std::uint64_t number = 0;
  std::string_view bytes;
};

inline std::uint64_t take_varint(std::string_view& text) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (text.empty()) throw std::runtime_error("a varint is cut short");
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw std::runtime_error("a varint is too long");
}

inline std::string_view take(std::string_view& text, std::uint64_t count) {
  if (count > text.size()) throw std::runtime_error("a field is cut short");
  const std::string_view taken = text.substr(0, count);
  text.remove_prefix(count);
  return taken;
}

template <typename Word>
Word word_of(std::string_view text) {
  Word word{};
  if (text.size() != sizeof word) throw std::runtime_error("a word has another size");
  std::memcpy(&word, text.data(), sizeof word);
  return word;
}

// Fields by number, in order.
inline std::multimap<std::uint64_t, Field> fields_of(std::string_view message) {
  std::multimap<std::uint64_t, Field> fields;
  while (!message.empty()) {
    const std::uint64_t key = take_varint(message);
    Field field;
    switch (key & 7) {
      case 0:
        field.number = take_varint(message);
        break;
      case 1:
        field.number = word_of<std::uint64_t>(take(message, 8));
        break;
      case 2:
        field.bytes = take(message, take_varint(message));
        break;
      case 5:
        field.number = word_of<std::uint32_t>(take(message, 4));
        break;
      default:
        throw std::runtime_error("an unknown wire type");
    }
    fields.emplace(key >> 3, field);
  }
  return fields;
}

// The bytes at a path of field numbers; nothing if one is missing.
inline std::optional<Field> at(std::string_view message,
                               std::initializer_list<std::uint64_t> path) {
  std::optional<Field> found;
  for (const std::uint64_t number : path) {
    const auto fields = fields_of(message);
    const auto field = fields.find(number);
    if (field == fields.end()) return std::nullopt;
    found = field->second;
    message = found->bytes;
  }
  return found;
}

inline ReadScalar scalar_of(std::string_view value) {
  ReadScalar scalar;
  scalar.tag = at(value, {1}).value_or(Field{}).bytes;
  if (const auto simple = at(value, {2})) {
    scalar.value = std::bit_cast<float>(static_cast<std::uint32_t>(simple->number));
  } else if (const auto tensor = at(value, {8, 4}); tensor && at(value, {8, 1})->number == 1) {
    scalar.value = word_of<float>(tensor->bytes);
  }
  scalar.plugin = at(value, {9, 1, 1}).value_or(Field{}).bytes;
  return scalar;
}

inline ReadEvent event_of(std::string_view message) {
  ReadEvent event;
  event.time = std::bit_cast<double>(at(message, {1}).value_or(Field{}).number);
  event.step = static_cast<std::int64_t>(at(message, {2}).value_or(Field{}).number);
  event.file_version = at(message, {3}).value_or(Field{}).bytes;
  if (const auto status = at(message, {7, 1})) event.session_status = status->number;
  if (const auto summary = at(message, {5})) {
    for (const auto& [number, value] : fields_of(summary->bytes)) {
      if (number == 1) event.scalars.push_back(scalar_of(value.bytes));
    }
  }
  return event;
}

inline bool checks(std::string_view bytes, std::string_view crc) {
  return checkpoint::masked_crc32c(checkpoint::crc32c(std::as_bytes(std::span(bytes)))) ==
         word_of<std::uint32_t>(crc);
}

// Throws std::runtime_error for a record that is there and damaged.
inline ReadFile read_events(std::string_view file) {
  ReadFile read;
  const std::size_t size = file.size();
  while (file.size() >= 16) {
    std::string_view rest = file;
    const auto head = take(rest, 8);
    if (!checks(head, take(rest, 4))) throw std::runtime_error("a length is damaged");
    const auto length = word_of<std::uint64_t>(head);
    if (length > rest.size() || rest.size() - length < 4) break;
    const auto payload = take(rest, length);
    if (!checks(payload, take(rest, 4))) throw std::runtime_error("an event is damaged");
    read.events.push_back(event_of(payload));
    read.events.back().offset = size - file.size();
    file = rest;
  }
  read.bytes_left = file.size();
  return read;
}

}  // namespace lockstep::runtime::metrics::reader
