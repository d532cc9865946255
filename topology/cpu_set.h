// A set of logical CPUs, as /sys, NCCL and nvidia-smi write it.
//
// Thread rule: a value. CPUs are numbered as the operating system numbers them, up to kMaxCpu; what
// names a higher one is not a CPU set but damage, and is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::topology {

class CpuSet {
 public:
  static constexpr int kMaxCpu = 16383;

  // "0-31,64-95"; blanks around numbers are allowed, the empty text is the empty set.
  [[nodiscard]] static std::optional<CpuSet> from_list(std::string_view text);

  // Comma-separated words of up to eight hexadecimal digits, the most significant first:
  // "00000000,000000ff".
  [[nodiscard]] static std::optional<CpuSet> from_mask(std::string_view text);

  // REQUIRES: 0 <= cpu <= kMaxCpu.
  void add(int cpu);
  [[nodiscard]] bool contains(int cpu) const;
  [[nodiscard]] int count() const;
  [[nodiscard]] bool empty() const { return count() == 0; }
  [[nodiscard]] std::vector<int> cpus() const;  // ascending

  [[nodiscard]] std::string to_list() const;  // "0-31,64-95"
  // Of at least `words` words of 32 bits, as NCCL's files have it.
  [[nodiscard]] std::string to_mask(int words = 1) const;

  // Sets are equal by their CPUs, however they were written.
  bool operator==(const CpuSet& other) const;

 private:
  std::vector<std::uint64_t> words_;  // bit c % 64 of word c / 64
};

}  // namespace lockstep::topology
