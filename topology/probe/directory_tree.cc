#include "topology/probe/directory_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace lockstep::topology {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int value() const { return value_; }

 private:
  int value_;
};

}  // namespace

DirectoryTree::DirectoryTree(const std::filesystem::path& root) {
  std::error_code error;
  root_ = std::filesystem::canonical(root, error).string();
  exists_ = !error;
  if (root_ == "/") root_.clear();
}

// Where a path lies on this machine; empty where it leads out of the tree or to nothing.
std::optional<std::string> DirectoryTree::outside(std::string_view path) const {
  if (!exists_) return std::nullopt;
  if (root_.empty())
    return std::string(path);  // nothing to stay within: the caller's open resolves
  std::error_code error;
  std::string full = std::filesystem::canonical(root_ + std::string(path), error).string();
  if (error) return std::nullopt;
  const bool below =
      full.starts_with(root_) && (full.size() == root_.size() || full[root_.size()] == '/');
  if (!below) return std::nullopt;
  return full;
}

FileText DirectoryTree::read_at(std::string_view path, std::size_t offset,
                                std::size_t limit) const {
  const auto full = outside(path);
  if (!full) return {};
  const Descriptor file(open(full->c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.value() < 0) return {errno == ENOENT ? FileStatus::absent : FileStatus::refused, {}};
  struct stat about {};
  if (fstat(file.value(), &about) != 0 || !S_ISREG(about.st_mode)) return {FileStatus::refused, {}};
  // Files of /proc and /sys may not be sought in; from their beginning nobody needs to.
  if (offset > 0 && ::lseek(file.value(), static_cast<off_t>(offset), SEEK_SET) < 0) {
    return {FileStatus::refused, {}};
  }
  std::string text;
  constexpr std::size_t kStep = 16384;
  while (text.size() < limit) {
    const std::size_t at = text.size();
    text.resize(std::min(limit, std::max(at + kStep, at + at / 2)));
    const ssize_t count = ::read(file.value(), text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) {
      text.resize(at);
      continue;
    }
    text.resize(at + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0) return {FileStatus::refused, {}};
    if (count == 0) break;
  }
  return {FileStatus::read, std::move(text)};
}

std::vector<std::string> DirectoryTree::list(std::string_view path) const {
  std::vector<std::string> names;
  const auto full = outside(path);
  if (!full) return names;
  std::error_code error;
  std::filesystem::directory_iterator entries(
      *full, std::filesystem::directory_options::skip_permission_denied, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error))
    names.push_back(entries->path().filename().string());
  sort_naturally(names);
  return names;
}

bool DirectoryTree::exists(std::string_view path) const {
  const auto full = outside(path);
  return full && access(full->c_str(), F_OK) == 0;
}

std::optional<std::string> DirectoryTree::real_path(std::string_view path) const {
  auto full = outside(path);
  if (!full) return std::nullopt;
  std::error_code error;
  *full = std::filesystem::canonical(*full, error).string();
  if (error) return std::nullopt;
  return full->size() == root_.size() ? std::string("/") : full->substr(root_.size());
}

}  // namespace lockstep::topology
