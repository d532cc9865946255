#include "launcher/visible_gpus.h"

#include <algorithm>
#include <string>
#include <system_error>

namespace lockstep::launcher {
namespace {

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::uint32_t count_items(std::string_view list) {
  std::uint32_t count = 0;
  while (!list.empty()) {
    const std::string_view item = trim(list.substr(0, list.find(',')));
    if (item.empty() || item == "-1" || item == "NoDevFiles") break;
    ++count;
    list.remove_prefix(std::min(
        list.size(), list.find(',') == std::string_view::npos ? list.size() : list.find(',') + 1));
  }
  return count;
}

bool is_gpu(const std::string& file) {
  constexpr std::string_view kPrefix = "nvidia";
  return file.size() > kPrefix.size() && file.starts_with(kPrefix) &&
         std::all_of(file.begin() + kPrefix.size(), file.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::uint32_t visible_gpus(std::optional<std::string_view> visible_devices,
                           const std::filesystem::path& devices) {
  if (visible_devices) return count_items(*visible_devices);
  std::uint32_t count = 0;
  std::error_code error;
  for (const auto& item : std::filesystem::directory_iterator(devices, error)) {
    if (is_gpu(item.path().filename().string())) ++count;
  }
  return count;
}

}  // namespace lockstep::launcher
