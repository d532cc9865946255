// The lists of names in NCCL_IB_HCA and NCCL_SOCKET_IFNAME: "=mlx5_0,mlx5_1:1", "^docker,lo".
//
// '^' in front excludes what is listed; '=' after it (or in front) matches whole names, without it
// an entry matches every name that begins with it: mlx5_1 also takes mlx5_10. Thread rule: a value
// and pure functions. Source: NCCL's parseStringList and matchIfList.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::topology {

struct NameList {
  struct Entry {
    std::string name;
    std::optional<int> port;
  };
  bool exclude = false;
  bool exact = false;
  std::vector<Entry> entries;
};

[[nodiscard]] NameList parse_name_list(std::string_view text);

// Whether an entry of the list is about that name, excluding or not.
[[nodiscard]] bool names(const NameList& list, std::string_view name,
                         std::optional<int> port = std::nullopt);

// Whether NCCL would use that device. An empty list admits all.
[[nodiscard]] bool admits(const NameList& list, std::string_view name,
                          std::optional<int> port = std::nullopt);

}  // namespace lockstep::topology
