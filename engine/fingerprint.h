// A short number for a text, the same on every machine and in every run: names of derived weights,
// seeds of parameters, hashes of plans. Not for anything an enemy may choose.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep::engine {

// FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv).
[[nodiscard]] constexpr std::uint64_t fingerprint(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

static_assert(fingerprint("foobar") == 0x85944171f73967e8u);  // the published vector

}  // namespace lockstep::engine
