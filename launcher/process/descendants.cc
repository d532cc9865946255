#include "launcher/process/descendants.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "launcher/process/system_call.h"

namespace lockstep::launcher {

void become_subreaper() {
  checked(::prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl(PR_SET_CHILD_SUBREAPER)");
}

Descendants::Descendants() {
  const pid_t self = ::getpid();
  for (const ProcessEntry& entry : all_processes()) {
    if (entry.parent == self) earlier_children_.push_back(entry.identity);
  }
}

std::vector<ProcessEntry> Descendants::among(const std::vector<ProcessEntry>& processes,
                                             const std::vector<ProcessEntry>& more) const {
  std::unordered_map<pid_t, std::vector<const ProcessEntry*>> children;
  for (const ProcessEntry& entry : processes) children[entry.parent].push_back(&entry);
  std::vector<ProcessEntry> found;
  std::unordered_set<pid_t> seen{::getpid()};
  const auto add = [&](const ProcessEntry& entry) {
    if (std::ranges::count(earlier_children_, entry.identity) > 0) return;
    if (seen.insert(entry.identity.pid).second) found.push_back(entry);
  };
  for (const ProcessEntry* child : children[::getpid()]) add(*child);
  for (const ProcessEntry& entry : more) add(entry);
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const ProcessEntry* child : children[found[i].identity.pid]) add(*child);
  }
  return found;
}

std::size_t Descendants::signal_all(int signal, const std::set<pid_t>& spared) const {
  std::size_t living = 0;
  std::vector<ProcessEntry> processes = all_processes();
  std::erase_if(processes, [&spared](const ProcessEntry& entry) {
    return spared.contains(entry.identity.pid);
  });
  for (const ProcessEntry& entry : among(processes)) {
    if (!is_living(entry)) continue;
    ++living;
    if (signal != 0) signal_process(entry.identity, signal);
  }
  return living;
}

}  // namespace lockstep::launcher
