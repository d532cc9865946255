// The fixed tree over hosts.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

namespace lockstep::collectives::ucx {

// A host's place in the binary tree of `hosts` hosts whose root is `root`. Counted from the root on
// (0: the root, 1: the host after it, ...; the last is followed by the first), host v's children
// are 2v+1 and 2v+2.
struct TreePlace {
  std::optional<int> parent;
  std::vector<int> children;  // in the order in which their sums are added

  // How much longer than others a host may wait before it blames the one it waits for: a child that
  // is late may wait for a child of its own, which its parent does not know.
  std::vector<std::chrono::milliseconds> patience_with_children;
  std::chrono::milliseconds patience_with_parent{};
};

// Pure. REQUIRES: 0 <= host, root < hosts.
[[nodiscard]] TreePlace tree_place(int host, int hosts, int root);

}  // namespace lockstep::collectives::ucx
