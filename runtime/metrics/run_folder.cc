#include "runtime/metrics/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <random>
#include <system_error>

#include "runtime/checkpoint/file_system.h"

namespace lockstep::runtime::metrics {
namespace {

constexpr int kAttempts = 16;
constexpr std::size_t kLongestName = 200;

void require_file_name(std::string_view name, std::string_view what) {
  if (!is_run_name(name)) {
    throw RunFolderError(fmt::format(
        "the {} \"{}\" cannot be a folder's name: it must not be empty, be \"latest\", begin with "
        "'.', hold '/' or be longer than {} bytes",
        what, name, kLongestName));
  }
}

bool make_folder(const std::filesystem::path& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return true;
  if (errno == EEXIST) return false;
  throw RunFolderError(fmt::format("the run folder {} cannot be made: {}", path.string(),
                                   std::generic_category().message(errno)));
}

void point_latest(const std::filesystem::path& folder, const std::string& id) {
  const auto temporary = folder / fmt::format(".latest.{}.tmp", checkpoint::random_suffix());
  std::error_code error;
  std::filesystem::create_directory_symlink(id, temporary, error);
  if (!error) {
    std::filesystem::rename(temporary, folder / "latest", error);
    std::error_code ignored;
    if (error) std::filesystem::remove(temporary, ignored);
  }
  if (error) {
    throw RunFolderError(fmt::format("{} cannot be made to point to {}: {}",
                                     (folder / "latest").string(), id, error.message()));
  }
}

}  // namespace

bool is_run_name(std::string_view name) {
  return !name.empty() && !name.starts_with('.') && name != "latest" &&
         name.size() <= kLongestName &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

std::string run_id(std::chrono::system_clock::time_point now, std::uint16_t digits) {
  const auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(now);
  return fmt::format("{:%Y%m%d-%H%M%S}-{:04x}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), digits);
}

std::optional<RunFolder> RunFolder::given() {
  const char* path = std::getenv("LOCKSTEP_RUN");
  if (path == nullptr || *path == '\0') return std::nullopt;
  return open(path);
}

RunFolder RunFolder::create(const std::filesystem::path& runs, std::string_view name,
                            const std::optional<std::string>& id) {
  require_file_name(name, "job's name");
  const auto folder = runs / name;
  std::error_code error;
  std::filesystem::create_directories(runs, error);
  if (error) {
    throw RunFolderError(
        fmt::format("the folder {} cannot be made: {}", runs.string(), error.message()));
  }
  (void)make_folder(folder);
  if (id) {
    require_file_name(*id, "run's id");
    (void)make_folder(folder / *id);
    point_latest(folder, *id);
    return open(folder / *id);
  }
  std::random_device random;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string drawn =
        run_id(std::chrono::system_clock::now(), static_cast<std::uint16_t>(random() & 0xffffu));
    if (!make_folder(folder / drawn)) continue;
    point_latest(folder, drawn);
    return open(folder / drawn);
  }
  throw RunFolderError(
      fmt::format("no free run id was found in {}, in {} attempts", folder.string(), kAttempts));
}

RunFolder RunFolder::open(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    throw RunFolderError(
        fmt::format("the run folder {} is not there, or is no folder", path.string()));
  }
  return RunFolder(std::filesystem::absolute(path).lexically_normal());
}

void RunFolder::write(std::string_view file, std::string_view text) const {
  checkpoint::PosixFileSystem files;
  checkpoint::replace_file(files, path_ / file, text);
}

}  // namespace lockstep::runtime::metrics
