#include "launcher/process/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "launcher/process/pidfd.h"
#include "launcher/process/system_call.h"

namespace lockstep::launcher {
namespace {

template <typename Number>
bool parse(std::string_view text, Number& number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

}  // namespace

void become_subreaper() {
  checked(::prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl(PR_SET_CHILD_SUBREAPER)");
}

bool Descendants::read_entry(pid_t pid, Entry& entry) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return false;
  char buffer[1024];
  const ssize_t size = ::read(file.get(), buffer, sizeof buffer);
  if (size <= 0) return false;
  std::string_view text(buffer, static_cast<std::size_t>(size));
  // The command may hold blanks and brackets; fields are counted after its last bracket.
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string_view::npos || bracket + 4 > text.size()) return false;
  text.remove_prefix(bracket + 2);
  constexpr int kStateField = 0, kParentField = 1, kStartedField = 19;
  for (int field = 0; field <= kStartedField; ++field) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (field == kStateField) entry.state = word.empty() ? 'X' : word[0];
    if (field == kParentField && !parse(word, entry.parent)) return false;
    if (field == kStartedField && !parse(word, entry.identity.started)) return false;
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  entry.identity.pid = pid;
  return true;
}

std::vector<Descendants::Entry> Descendants::all_processes() {
  std::vector<Entry> entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), &::closedir);
  if (proc == nullptr) throw std::system_error(errno, std::generic_category(), "opendir /proc");
  while (const dirent* item = ::readdir(proc.get())) {
    pid_t pid = 0;
    Entry entry{};
    if (parse(std::string_view(item->d_name), pid) && read_entry(pid, entry)) {
      entries.push_back(entry);
    }
  }
  return entries;
}

Descendants::Descendants() {
  const pid_t self = ::getpid();
  for (const Entry& entry : all_processes()) {
    if (entry.parent == self) earlier_children_.push_back(entry.identity);
  }
}

std::size_t Descendants::signal_all(int signal, const std::set<pid_t>& spared) const {
  const std::vector<Entry> entries = all_processes();
  std::vector<pid_t> parents{::getpid()};
  std::size_t living = 0;
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    for (const Entry& entry : entries) {
      if (entry.parent != parent || spared.contains(entry.identity.pid) ||
          std::ranges::count(earlier_children_, entry.identity) > 0) {
        continue;
      }
      parents.push_back(entry.identity.pid);
      if (entry.state == 'Z' || entry.state == 'X') continue;
      ++living;
      if (signal == 0) continue;
      const UniqueFd pidfd(::pidfd_open(entry.identity.pid, 0));
      Entry again{};
      // The pid may have been reused since the walk; the descriptor pins the one that is checked.
      if (pidfd.valid() && read_entry(entry.identity.pid, again) &&
          again.identity == entry.identity) {
        ::pidfd_send_signal(pidfd.get(), signal, nullptr, 0);
      }
    }
  }
  return living;
}

}  // namespace lockstep::launcher
