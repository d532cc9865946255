#include "launcher/program_search.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockstep::launcher {
namespace {

// Empty where `path` can be executed, else why not.
std::string obstacle(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::strerror(errno);
  if (S_ISDIR(status.st_mode)) return "it is a directory";
  if (!S_ISREG(status.st_mode)) return "it is not a regular file";
  if (::access(path.c_str(), X_OK) != 0) return "it is not executable (chmod +x?)";
  return {};
}

}  // namespace

std::string find_program(const std::string& name, std::string_view search_path) {
  if (name.find('/') != std::string::npos) {
    const std::string why = obstacle(name);
    if (why.empty()) return name;
    throw ProgramNotFound(fmt::format("cannot start the program '{}': {}", name, why));
  }
  std::string seen;
  std::string_view rest = search_path;
  while (!name.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string folder =
        rest.substr(0, colon).empty() ? "." : std::string(rest.substr(0, colon));
    const std::string path = folder + "/" + name;
    const std::string why = obstacle(path);
    if (why.empty()) return path;
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0)
      seen += fmt::format("; {} was passed over: {}", path, why);
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  throw ProgramNotFound(
      fmt::format("no program '{}' in the folders of PATH ({}){}", name, search_path, seen));
}

}  // namespace lockstep::launcher
