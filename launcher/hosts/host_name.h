// The words that all grammars of hosts share: a host's name, with a user before it or a number
// behind it.
//
// Thread rule: pure functions. Errors: AllocationError at the word's place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/hosts/allocation.h"
#include "launcher/hosts/located_text.h"

namespace lockstep::launcher {

// A host by `[user@]name`: letters, digits, '_', '-' and '.', or an IPv6 address (with a zone, as
// in fe80::1%eth0), at most 255 bytes. A name or user that begins with '-' is refused: ssh would
// take it for a flag.
[[nodiscard]] AllocatedHost read_host(const LocatedText& text, Word word);

// A user's name, as before '@'.
[[nodiscard]] std::string read_user(const LocatedText& text, Word word);

// "name:8", "[fe80::1]:8", "fe80::1", "name": the name (without brackets) and what follows its
// colon.
struct NameAndRest {
  Word name;
  std::optional<Word> rest;
};
[[nodiscard]] NameAndRest split_at_colon(const LocatedText& text, Word word);

// A whole number from `least` to `most`; `what` names it in the message.
struct NumberRange {
  std::uint32_t least, most;
};
[[nodiscard]] std::uint32_t read_number(const LocatedText& text, Word word, std::string_view what,
                                        NumberRange range);

// A number of slots: 1 to kMostSlots.
[[nodiscard]] std::uint32_t read_slots(const LocatedText& text, Word word);

}  // namespace lockstep::launcher
