#include "topology/merge/strangers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "topology/natural_order.h"
#include "topology/rdma_name.h"

namespace lockstep::topology::merging {
namespace {

constexpr std::size_t kMostNames = 8;  // in a message

// A device as every tool calls it: NCCL has names of its own for two that it fused (mlx5_0+mlx5_1)
// and for the direct way to one (mlx5_0_dma).
bool is_plain_name(const std::string& name) {
  return is_rdma_name(name) && name.find('+') == std::string::npos &&
         std::isdigit(static_cast<unsigned char>(name.back())) != 0;
}

std::string shown_list(const std::vector<std::string>& names) {
  const auto shown = static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNames));
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  if (names.size() > kMostNames) text += fmt::format(" and {} more", names.size() - kMostNames);
  return text;
}

class RecordingPair {
 public:
  RecordingPair(const Recordings& recordings, const Grouping& nics, std::size_t a, std::size_t b)
      : recordings_(recordings), nics_(nics), a_(a), b_(b) {
    only_a_ = only_in(a, b);
    only_b_ = only_in(b, a);
  }

  [[nodiscard]] std::vector<Finding> findings() const {
    std::vector<Finding> found;
    if (auto moved = at_two_places(); !moved.empty()) {
      found.push_back(different(fmt::format("{} and {} have {}", name(a_), name(b_), moved)));
    } else if (!share_one()) {
      return found;  // parts of one host, or a tool's word on one adapter
    } else if (!only_a_.empty() && !only_b_.empty()) {
      found.push_back(
          different(fmt::format("{} has {}, which {} does not have, and lacks {}", name(a_),
                                shown_list(only_a_), name(b_), shown_list(only_b_))));
    } else if (!only_b_.empty() && (is_matrix(a_) || lists_all(a_)) &&
               (is_matrix(a_) || is_matrix(b_))) {
      found.push_back(missing(a_, b_, only_b_));
    } else if (!only_a_.empty() && (is_matrix(b_) || lists_all(b_)) &&
               (is_matrix(a_) || is_matrix(b_))) {
      found.push_back(missing(b_, a_, only_a_));
    }
    return found;
  }

 private:
  [[nodiscard]] const Machine& part(std::size_t index) const { return recordings_.parts[index]; }
  [[nodiscard]] const std::string& name(std::size_t index) const {
    return recordings_.sources[index];
  }

  [[nodiscard]] bool has(std::size_t group, std::size_t index) const {
    return std::ranges::count(nics_.groups[group], index, &Member::part) > 0;
  }

  [[nodiscard]] bool share_one() const {
    return std::ranges::any_of(nics_.place[a_],
                               [this](std::size_t group) { return has(group, b_); });
  }

  // The names of devices of `one` that are nothing in `other`, not even an interface.
  [[nodiscard]] std::vector<std::string> only_in(std::size_t one, std::size_t other) const {
    std::set<std::string_view> known;
    for (const Nic& nic : part(other).nics) {
      known.insert(nic.name);
      known.insert(nic.netdev);
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < part(one).nics.size(); ++i) {
      const std::string& device = part(one).nics[i].name;
      if (!is_plain_name(device) || known.contains(device)) continue;
      if (has(nics_.place[one][i], other) || std::ranges::count(names, device) > 0) continue;
      names.push_back(device);
    }
    std::ranges::sort(names, natural_less);
    return names;
  }

  // NCCL gives all functions of a card, the virtual ones too, the first one's address.
  [[nodiscard]] std::string at_two_places() const {
    for (const Nic& one : part(a_).nics) {
      for (const Nic& other : part(b_).nics) {
        if (!is_plain_name(one.name) || one.name != other.name) continue;
        if (one.virtual_function || other.virtual_function) continue;
        const auto here = one.pci.address, there = other.pci.address;
        if (!here || !there) continue;
        if (std::pair(here->domain, here->bus) != std::pair(there->domain, there->bus))
          return fmt::format("{} at {} and at {}", one.name, to_string(*here), to_string(*there));
      }
    }
    return {};
  }

  [[nodiscard]] bool is_matrix(std::size_t index) const {
    return std::ranges::any_of(part(index).stated, [](const StatedPath& path) {
      return path.from.kind == DeviceKind::nic || path.to.kind == DeviceKind::nic;
    });
  }

  // Other tools are asked for one adapter, or for those that NCCL uses.
  [[nodiscard]] bool lists_all(std::size_t index) const {
    constexpr std::array<std::string_view, 5> kAll = {"ibstat", "ibstatus", "ibdev2netdev",
                                                      "rdma-link", "live"};
    return std::ranges::any_of(part(index).sources, [&kAll](const std::string& source) {
      return std::ranges::count(kAll, source) > 0;
    });
  }

  [[nodiscard]] Finding different(const std::string& evidence) const {
    return {.severity = Severity::warning,
            .code = "different-hosts",
            .message = fmt::format("these recordings do not describe the same host: {}", evidence),
            .where = part(a_).name,
            .remedy =
                "give the recordings of one host only; if they are, record them again at one "
                "time, all on the host or all in the same container"};
  }

  [[nodiscard]] Finding missing(std::size_t fewer, std::size_t more,
                                const std::vector<std::string>& names) const {
    return {.severity = Severity::info,
            .code = "adapters-missing",
            .message = fmt::format("{} does not have {}, which {} has: they are hidden from where "
                                   "it was recorded, or these recordings do not describe the same "
                                   "host",
                                   name(fewer), shown_list(names), name(more)),
            .where = shown_list(names),
            .remedy = "nothing, if that is right; else record both on the same host"};
  }

  const Recordings& recordings_;
  const Grouping& nics_;
  std::size_t a_, b_;
  std::vector<std::string> only_a_, only_b_;
};

}  // namespace

std::vector<Finding> strangers(const Recordings& recordings, const Grouping& nics) {
  std::vector<Finding> found;
  for (std::size_t b = 1; b < recordings.parts.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      for (Finding& finding : RecordingPair(recordings, nics, a, b).findings())
        found.push_back(std::move(finding));
    }
  }
  return found;
}

}  // namespace lockstep::topology::merging
