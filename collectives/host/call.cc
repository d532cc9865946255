#include "collectives/host/call.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace lockstep::collectives::host {
namespace {

constexpr std::array<std::string_view, 6> kKinds = {"all_reduce", "reduce_scatter", "all_gather",
                                                    "broadcast",  "all_to_all",     "barrier"};
constexpr std::array<std::string_view, 4> kOps = {"sum", "max", "min", "average"};
constexpr std::array<std::string_view, 4> kPlaces = {"small", "in an arena", "in the host's arena",
                                                     "outside the arenas"};

std::string text_of_bytes(std::size_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  const double kib = static_cast<double>(bytes) / 1024;
  return kib < 1024 ? fmt::format("{:.1f} KiB", kib) : fmt::format("{:.1f} MiB", kib / 1024);
}

}  // namespace

std::uint64_t Call::what() const {
  const auto field = [](auto value, int shift) {
    return static_cast<std::uint64_t>(value) << shift;
  };
  return field(kind, 0) | field(type, 8) | field(op, 16) | field(place, 24) | field(arena, 32) |
         field(root, 48);
}

std::string Call::text() const {
  const auto name = kKinds[static_cast<std::size_t>(kind)];
  if (kind == Kind::barrier) return fmt::format("{} #{}", name, number);
  return fmt::format("{} #{} ({})", name, number, text_of_bytes(count * element()));
}

std::string text_of(std::uint64_t what, std::uint64_t count) {
  const auto field = [what](int shift) { return static_cast<std::size_t>(what >> shift & 0xff); };
  const auto kind = static_cast<Kind>(field(0));
  const auto name = kKinds.at(field(0));
  if (kind == Kind::barrier) return std::string(name);
  const auto type = engine::name_of(static_cast<DType>(field(8)));
  const auto place = kPlaces.at(field(24));
  switch (kind) {
    case Kind::all_reduce:
    case Kind::reduce_scatter:
      return fmt::format("{} of {} {} ({}, {})", name, count, type, kOps.at(field(16)), place);
    case Kind::broadcast:
      return fmt::format("{} of {} {} (root {}, {})", name, count, type, what >> 48, place);
    default:
      return fmt::format("{} of {} {} ({})", name, count, type, place);
  }
}

}  // namespace lockstep::collectives::host
