// How a worker that lockstep started learns where the store is.
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "collectives/rendezvous/store_client.h"

namespace lockstep::collectives::rendezvous {
namespace {

std::string required(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') {
    throw StoreError(
        fmt::format("LOCKSTEP_STORE is set but {} is not: lockstep launch sets both", name));
  }
  return text;
}

template <class T>
T number(const char* name) {
  const std::string text = required(name);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw StoreError(fmt::format("{}={}: expected a whole number", name, text));
  }
  return value;
}

}  // namespace

std::optional<StoreClientOptions> store_options_from_environment() {
  if (std::getenv("LOCKSTEP_STORE") == nullptr) return std::nullopt;
  StoreClientOptions options;
  options.address = required("LOCKSTEP_STORE");
  options.rank = number<int>("LOCKSTEP_RANK");
  options.world = number<int>("LOCKSTEP_WORLD");
  options.generation = number<std::uint64_t>("LOCKSTEP_GENERATION");
  options.secret = secret_from_environment();
  return options;
}

}  // namespace lockstep::collectives::rendezvous
