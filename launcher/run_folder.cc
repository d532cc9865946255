#include "launcher/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>
#include <random>
#include <stdexcept>
#include <system_error>

namespace lockstep::launcher {
namespace {

constexpr mode_t kOwnerOnly = 0700;

std::string new_id() {
  std::random_device random;
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:%Y%m%d-%H%M%S}-{:04x}", utc, random() & 0xffffU);
}

void make_folder(const std::filesystem::path& path) {
  if (::mkdir(path.c_str(), kOwnerOnly) != 0) {
    throw std::filesystem::filesystem_error("cannot create the run folder", path,
                                            std::error_code(errno, std::generic_category()));
  }
}

}  // namespace

bool is_run_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name != "latest" && name.size() <= 200 &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

RunFolder create_run_folder(const std::filesystem::path& runs, const std::string& name) {
  const std::filesystem::path parent = std::filesystem::absolute(runs) / name;
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) {
    throw std::runtime_error(
        fmt::format("the run folder {} cannot be made: {}; choose another place with --runs DIR",
                    parent.string(), error.message()));
  }
  RunFolder folder{name, {}, {}};
  do {
    folder.id = new_id();
    folder.path = parent / folder.id;
  } while (std::filesystem::exists(std::filesystem::symlink_status(folder.path)));
  make_folder(folder.path);
  make_folder(folder.path / "log");

  const std::filesystem::path link = parent / (".latest-" + folder.id);
  std::filesystem::create_symlink(folder.id, link);
  std::filesystem::rename(link, parent / "latest");
  return folder;
}

}  // namespace lockstep::launcher
