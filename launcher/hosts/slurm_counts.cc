#include "launcher/hosts/slurm_counts.h"

#include <fmt/format.h>

#include "launcher/hosts/allocation.h"
#include "launcher/hosts/host_name.h"

namespace lockstep::launcher {

std::vector<std::uint32_t> expand_slurm_counts(const LocatedText& counts) {
  constexpr std::string_view kTimes = "(x";
  std::vector<std::uint32_t> expanded;
  for (const Word item : split({counts.text(), {}}, ',')) {
    const std::size_t open = item.text.find(kTimes);
    std::uint32_t times = 1;
    if (open != std::string_view::npos) {
      const Word repeated = item.part(open + kTimes.size());
      if (!repeated.text.ends_with(')')) {
        counts.refuse(repeated.place, fmt::format("expected a number of nodes as in 1(x2), found "
                                                  "'{}'",
                                                  excerpt(item.text)));
      }
      times = read_number(counts, repeated.part(0, repeated.text.size() - 1), "a number of nodes",
                          {1, kMostHosts});
    }
    const std::uint32_t count =
        read_number(counts, item.part(0, open), "a number a node", {1, kMostSlots});
    if (expanded.size() + times > kMostHosts)
      counts.refuse(item.place, fmt::format("numbers for more than {} nodes", kMostHosts));
    expanded.insert(expanded.end(), times, count);
  }
  return expanded;
}

}  // namespace lockstep::launcher
