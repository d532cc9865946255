#include "topology/probe/nccl_library.h"

#include <array>
#include <string>
#include <vector>

#include "topology/probe/values.h"

namespace lockstep::topology {
namespace {

constexpr std::string_view kName = "libnccl.so.2";
// A library of hundreds of megabytes is looked through by windows, which overlap by more than what
// is looked for.
constexpr std::size_t kScanned = std::size_t{64} << 20, kWindow = std::size_t{1} << 20,
                      kOverlap = 256;
constexpr std::size_t kLongestConf = 65536;
constexpr std::size_t kMostFolders = 1000;
constexpr int kDeepestInclude = 4;

void add_folders(std::string_view list, std::vector<std::string>& folders) {
  while (!list.empty()) {
    const std::size_t end = list.find_first_of(":;");
    if (end != 0 && folders.size() < kMostFolders) folders.emplace_back(list.substr(0, end));
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  }
}

void add_conf(const FileTree& tree, const std::string& path, int depth,
              std::vector<std::string>& folders);

// "include ld.so.conf.d/*.conf": a pattern's star stands in its last part only.
void add_included(const FileTree& tree, std::string pattern, int depth,
                  std::vector<std::string>& folders) {
  if (!pattern.starts_with('/')) pattern = "/etc/" + pattern;
  const std::size_t star = pattern.find('*');
  if (star == std::string::npos) {
    add_conf(tree, pattern, depth, folders);
    return;
  }
  const std::size_t slash = pattern.rfind('/', star);
  const std::string folder = pattern.substr(0, slash);
  const std::string_view before = std::string_view(pattern).substr(slash + 1, star - slash - 1);
  const std::string_view after = std::string_view(pattern).substr(star + 1);
  for (const std::string& name : tree.list(folder)) {
    if (name.size() >= before.size() + after.size() && name.starts_with(before) &&
        name.ends_with(after))
      add_conf(tree, folder + "/" + name, depth, folders);
  }
}

void add_conf(const FileTree& tree, const std::string& path, int depth,
              std::vector<std::string>& folders) {
  if (depth > kDeepestInclude) return;
  const FileText file = tree.read(path, kLongestConf);
  std::string_view text = file.text;
  while (!text.empty() && folders.size() < kMostFolders) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line = trimmed(line.substr(0, line.find('#')));
    if (line.starts_with("include ") || line.starts_with("include\t"))
      add_included(tree, std::string(trimmed(line.substr(8))), depth + 1, folders);
    else if (line.starts_with('/'))
      folders.emplace_back(line);
  }
}

std::vector<std::string> searched_folders(const FileTree& tree, const Environment& environment) {
  std::vector<std::string> folders;
  const auto path = environment.find("LD_LIBRARY_PATH");
  if (path != environment.end()) add_folders(path->second, folders);
  add_conf(tree, "/etc/ld.so.conf", 0, folders);
  constexpr std::array<const char*, 8> kDefaults{"/lib/x86_64-linux-gnu",
                                                 "/usr/lib/x86_64-linux-gnu",
                                                 "/lib/aarch64-linux-gnu",
                                                 "/usr/lib/aarch64-linux-gnu",
                                                 "/lib64",
                                                 "/usr/lib64",
                                                 "/lib",
                                                 "/usr/lib"};
  folders.insert(folders.end(), kDefaults.begin(), kDefaults.end());
  return folders;
}

// The dotted number at the start of `text`; empty where it has no dot.
std::string version_at(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  std::string_view version = text.substr(0, end);
  while (version.ends_with('.')) version.remove_suffix(1);
  return version.find('.') == std::string_view::npos ? std::string() : std::string(version);
}

std::string version_of(const FileTree& tree, const std::string& path) {
  constexpr std::string_view kPrefix = "libnccl.so.";
  const std::string name = link_name(tree, path).value_or("");
  if (name.starts_with(kPrefix)) {
    auto version = version_at(std::string_view(name).substr(kPrefix.size()));
    if (!version.empty()) return version;
  }
  constexpr std::string_view kText = "NCCL version ";
  for (std::size_t offset = 0; offset < kScanned; offset += kWindow - kOverlap) {
    const FileText file = tree.read_at(path, offset, kWindow);
    for (std::size_t at = file.text.find(kText); at != std::string::npos;
         at = file.text.find(kText, at + 1)) {
      auto version = version_at(std::string_view(file.text).substr(at + kText.size()));
      if (!version.empty()) return version;
    }
    if (file.text.size() < kWindow) break;
  }
  return {};
}

}  // namespace

void read_nccl_library(const FileTree& tree, const Environment& environment, Machine& machine) {
  for (const std::string& folder : searched_folders(tree, environment)) {
    const std::string path = folder + "/" + std::string(kName);
    if (!tree.exists(path)) continue;
    machine.system.nccl_library = path;
    machine.system.nccl = version_of(tree, path);
    return;
  }
}

}  // namespace lockstep::topology
