#include "topology/cpu_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "topology/blanks.h"

namespace lockstep::topology {
namespace {

std::optional<int> cpu_number(std::string_view text) {
  text = trimmed(text);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < 0 || value > CpuSet::kMaxCpu) return std::nullopt;
  return value;
}

// Calls `take` with each part of `text` between commas; false as soon as one is not taken.
template <typename Take>
bool every_part(std::string_view text, Take take) {
  while (true) {
    const std::size_t comma = text.find(',');
    if (!take(text.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<CpuSet> CpuSet::from_list(std::string_view text) {
  CpuSet set;
  text = trimmed(text);
  if (text.empty()) return set;
  const bool read = every_part(text, [&set](std::string_view part) {
    const std::size_t dash = part.find('-');
    const auto first = cpu_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : cpu_number(part.substr(dash + 1));
    if (!first || !last || *last < *first) return false;
    for (int cpu = *first; cpu <= *last; ++cpu) set.add(cpu);
    return true;
  });
  return read ? std::optional(std::move(set)) : std::nullopt;
}

std::optional<CpuSet> CpuSet::from_mask(std::string_view text) {
  std::vector<std::uint32_t> words;  // most significant first
  const bool read = every_part(trimmed(text), [&words](std::string_view part) {
    part = trimmed(part);
    std::uint32_t word = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), word, 16);
    if (part.empty() || part.size() > 8 || error != std::errc() || end != part.data() + part.size())
      return false;
    words.push_back(word);
    return true;
  });
  if (!read) return std::nullopt;
  CpuSet set;
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::uint32_t word = words[words.size() - 1 - w];
    for (int bit = 0; bit < 32; ++bit) {
      if (((word >> bit) & 1U) == 0) continue;
      const std::size_t cpu = 32 * w + static_cast<std::size_t>(bit);
      if (cpu > kMaxCpu) return std::nullopt;
      set.add(static_cast<int>(cpu));
    }
  }
  return set;
}

void CpuSet::add(int cpu) {
  const auto word = static_cast<std::size_t>(cpu) / 64;
  if (words_.size() <= word) words_.resize(word + 1);
  words_[word] |= std::uint64_t{1} << (cpu % 64);
}

bool CpuSet::contains(int cpu) const {
  const auto word = static_cast<std::size_t>(cpu) / 64;
  return cpu >= 0 && word < words_.size() && ((words_[word] >> (cpu % 64)) & 1U) != 0;
}

int CpuSet::count() const {
  int sum = 0;
  for (const std::uint64_t word : words_) sum += std::popcount(word);
  return sum;
}

std::vector<int> CpuSet::cpus() const {
  std::vector<int> found;
  for (int cpu = 0; cpu < static_cast<int>(64 * words_.size()); ++cpu) {
    if (contains(cpu)) found.push_back(cpu);
  }
  return found;
}

std::string CpuSet::to_list() const {
  std::string text;
  const std::vector<int> all = cpus();
  for (std::size_t i = 0; i < all.size();) {
    std::size_t last = i;
    while (last + 1 < all.size() && all[last + 1] == all[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? fmt::format("{}", all[i]) : fmt::format("{}-{}", all[i], all[last]);
    i = last + 1;
  }
  return text;
}

std::string CpuSet::to_mask(int words) const {
  const std::vector<int> all = cpus();
  const int needed = all.empty() ? 1 : all.back() / 32 + 1;
  std::string text;
  for (int w = std::max(words, needed) - 1; w >= 0; --w) {
    const auto half = static_cast<std::size_t>(w) / 2;
    const std::uint64_t word = half < words_.size() ? words_[half] : 0;
    text += fmt::format("{:08x}", static_cast<std::uint32_t>(w % 2 == 0 ? word : word >> 32));
    if (w != 0) text += ',';
  }
  return text;
}

bool CpuSet::operator==(const CpuSet& other) const {
  const std::size_t words = std::max(words_.size(), other.words_.size());
  for (std::size_t w = 0; w < words; ++w) {
    const std::uint64_t own = w < words_.size() ? words_[w] : 0;
    if (own != (w < other.words_.size() ? other.words_[w] : 0)) return false;
  }
  return true;
}

}  // namespace lockstep::topology
