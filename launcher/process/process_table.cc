#include "launcher/process/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "launcher/process/pidfd.h"
#include "launcher/process/unique_fd.h"

namespace lockstep::launcher {
namespace {

template <typename Number>
bool parse(std::string_view text, Number& number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

}  // namespace

std::optional<ProcessEntry> read_process(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  char buffer[1024];
  const ssize_t size = ::read(file.get(), buffer, sizeof buffer);
  if (size <= 0) return std::nullopt;
  std::string_view text(buffer, static_cast<std::size_t>(size));
  // The command may hold blanks and brackets; fields are counted after its last bracket.
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string_view::npos || bracket + 4 > text.size()) return std::nullopt;
  text.remove_prefix(bracket + 2);
  ProcessEntry entry;
  constexpr int kStateField = 0, kParentField = 1, kStartedField = 19;
  for (int field = 0; field <= kStartedField; ++field) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (field == kStateField) entry.state = word.empty() ? 'X' : word[0];
    if (field == kParentField && !parse(word, entry.parent)) return std::nullopt;
    if (field == kStartedField && !parse(word, entry.identity.started)) return std::nullopt;
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  entry.identity.pid = pid;
  return entry;
}

std::vector<ProcessEntry> all_processes() {
  std::vector<ProcessEntry> entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), &::closedir);
  if (proc == nullptr) throw std::system_error(errno, std::generic_category(), "opendir /proc");
  while (const dirent* item = ::readdir(proc.get())) {
    pid_t pid = 0;
    if (!parse(std::string_view(item->d_name), pid)) continue;
    if (const auto entry = read_process(pid)) entries.push_back(*entry);
  }
  return entries;
}

Signalled signal_process(const ProcessIdentity& identity, int signal) {
  const UniqueFd pidfd(::pidfd_open(identity.pid, 0));
  if (!pidfd.valid()) return Signalled::kGone;
  // The pid may have been reused since it was read; the descriptor pins the one that is checked.
  const auto again = read_process(identity.pid);
  if (!again || again->identity != identity) return Signalled::kGone;
  if (::pidfd_send_signal(pidfd.get(), signal, nullptr, 0) == 0) return Signalled::kYes;
  return errno == EPERM ? Signalled::kNotOurs : Signalled::kGone;
}

}  // namespace lockstep::launcher
