#include "launcher/remote/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace lockstep::launcher {
namespace {

constexpr std::size_t kLongestName = 255;
constexpr std::uintmax_t kLargestFile = std::uintmax_t{16} << 20;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Adds `name` to `hosts`; `where` begins the message of a refusal.
void add(std::vector<std::string>& hosts, std::string_view name, const std::string& where) {
  const auto odd = [](unsigned char c) { return c <= ' ' || c == 0x7f || c == ','; };
  if (name.starts_with('-') || name.size() > kLongestName || std::ranges::any_of(name, odd)) {
    throw HostListError(
        fmt::format("{}: '{}' is not the name of a host: one name or address was expected", where,
                    name.substr(0, kLongestName)));
  }
  if (std::ranges::find(hosts, name) != hosts.end()) {
    throw HostListError(fmt::format("{}: host '{}' is named twice", where, name));
  }
  hosts.emplace_back(name);
}

}  // namespace

std::vector<std::string> hosts_of(std::string_view list) {
  std::vector<std::string> hosts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t comma = std::min(list.find(',', begin), list.size());
    const std::string_view name = trimmed(list.substr(begin, comma - begin));
    if (name.empty())
      throw HostListError(fmt::format("--hosts {}: an empty name; expected a,b,c", list));
    add(hosts, name, "--hosts");
    begin = comma + 1;
  }
  return hosts;
}

std::vector<std::string> hosts_of_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw HostListError(
        fmt::format("--hostfile {}: {}", path.string(),
                    error ? error.message() : "is not a file; expected one host name a line"));
  }
  if (std::filesystem::file_size(path, error) > kLargestFile) {
    throw HostListError(fmt::format(
        "--hostfile {}: larger than 16 MiB; expected one host name a line", path.string()));
  }
  std::ifstream file(path);
  std::stringstream all;
  all << file.rdbuf();
  if (!file) throw HostListError(fmt::format("--hostfile {}: cannot be read", path.string()));

  std::vector<std::string> hosts;
  std::string line;
  for (int number = 1; std::getline(all, line); ++number) {
    std::string_view text = line;
    if (number == 1 && text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    text = trimmed(text.substr(0, text.find('#')));
    if (!text.empty()) add(hosts, text, fmt::format("{}:{}", path.string(), number));
  }
  if (hosts.empty())
    throw HostListError(fmt::format("--hostfile {}: names no host", path.string()));
  return hosts;
}

}  // namespace lockstep::launcher
