#include "collectives/ucx/tree.h"

namespace lockstep::collectives::ucx {
namespace {

// Longer than the ranks of different hosts begin a call apart when nothing is wrong.
constexpr std::chrono::milliseconds kPatienceALevel(500);

int levels_below(int place, int hosts) {
  int levels = 0;
  for (int first = 2 * place + 1; first < hosts; first = 2 * first + 1) ++levels;
  return levels;
}

}  // namespace

TreePlace tree_place(int host, int hosts, int root) {
  const int place = (host - root + hosts) % hosts;
  const auto host_at = [&](int other) { return (other + root) % hosts; };
  TreePlace tree;
  for (int child = 2 * place + 1; child <= 2 * place + 2 && child < hosts; ++child) {
    tree.children.push_back(host_at(child));
    tree.patience_with_children.push_back(kPatienceALevel * levels_below(child, hosts));
  }
  if (place > 0) tree.parent = host_at((place - 1) / 2);
  int depth = 0;
  for (int above = place; above > 0; above = (above - 1) / 2) ++depth;
  tree.patience_with_parent = kPatienceALevel * (levels_below(0, hosts) + depth);
  return tree;
}

}  // namespace lockstep::collectives::ucx
