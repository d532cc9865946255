#include "runtime/parallel/agreement.h"

#include <fmt/format.h>

#include "engine/fingerprint.h"

namespace lockstep::runtime::parallel {
namespace {

std::string hash_of(std::string_view text) {
  return fmt::format("{:016x}", engine::fingerprint(text));
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// Text that fits into one value of the store; graphs of thousands of nodes are compared by their
// beginning.
constexpr std::size_t kLargestText = 512 << 10;

}  // namespace

std::string first_difference(std::string_view mine, std::string_view theirs) {
  for (int number = 1; !mine.empty() || !theirs.empty(); ++number) {
    const std::string_view a = take_line(mine);
    const std::string_view b = take_line(theirs);
    if (a != b) return fmt::format("line {}: \"{}\" here, \"{}\" there", number, a, b);
  }
  return "no line differs";
}

void require_agreement(collectives::rendezvous::StoreClient& store,
                       std::span<const AgreementSection> sections,
                       std::chrono::milliseconds deadline) {
  if (store.rank() == 0) {
    // Texts first: who sees a hash that differs finds the text there.
    for (const AgreementSection& section : sections) {
      store.set("agreement/text/" + section.name, section.text.substr(0, kLargestText));
    }
    for (const AgreementSection& section : sections) {
      store.set("agreement/hash/" + section.name, hash_of(section.text));
    }
  } else {
    for (const AgreementSection& section : sections) {
      if (store.get("agreement/hash/" + section.name, deadline) == hash_of(section.text)) continue;
      const std::string theirs = store.get("agreement/text/" + section.name, deadline);
      throw DisagreementError(
          fmt::format("rank {} does not train the same as rank 0: the {} differs at {}; start all "
                      "ranks with the same "
                      "job file and the same version",
                      store.rank(), section.name, first_difference(section.text, theirs)));
    }
  }
  store.barrier("agreement", deadline);
}

}  // namespace lockstep::runtime::parallel
