#include "runtime/job_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "runtime/job.h"

namespace lockstep::runtime {
namespace {

using nlohmann::json;

// Deeper than any job; what recurses over a value stays far from the stack's end.
constexpr int kDeepest = 32;
constexpr std::size_t kLongestShown = 60;

// "3:17": line and column of a byte, both from 1.
std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("{}:{}", line, before.size() - line_start + 1);
}

// The library's message without its own prefix and position.
std::string_view reason_of(const json::exception& error) {
  const std::string_view text = error.what();
  const std::size_t colon = text.find(": ");
  return colon == std::string_view::npos ? text : text.substr(colon + 2);
}

// Watches the parser for what the finished value no longer shows.
class KeyWatch {
 public:
  explicit KeyWatch(const std::string& origin) : origin_(origin) {}

  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    if (depth > kDeepest) {
      throw JobError(fmt::format("{}: nested more than {} deep; a job is not", origin_, kDeepest));
    }
    if (event == json::parse_event_t::object_start) open_.emplace_back();
    if (event == json::parse_event_t::object_end) open_.pop_back();
    if (event == json::parse_event_t::key) note(parsed.get<std::string>());
    return true;
  }

 private:
  struct Open {
    std::set<std::string> keys;
    std::string current;
  };

  void note(std::string key) {
    open_.back().current = key;
    if (open_.back().keys.insert(std::move(key)).second) return;
    std::string path;
    for (const Open& object : open_) path += (path.empty() ? "" : ".") + object.current;
    throw JobError(fmt::format("{}: {}: stands twice; remove one", origin_, path));
  }

  const std::string& origin_;
  std::vector<Open> open_;
};

// The other of a pair of which a job has exactly one.
std::string_view counterpart(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kPairs{
      {{"data.batch", "data.batch_per_worker"}, {"epochs", "steps"}}};
  for (const auto& [one, other] : kPairs) {
    if (path == one) return other;
    if (path == other) return one;
  }
  return {};
}

json& descend(json& root, std::string_view path, const std::string& setting) {
  json* at = &root;
  std::size_t start = 0;
  for (;;) {
    const std::size_t dot = path.find('.', start);
    const std::string key(path.substr(start, dot - start));
    if (key.empty()) {
      throw JobError(
          fmt::format("--set {}: expected KEY=VALUE with a key such as data.batch", setting));
    }
    if (at->is_null()) *at = json::object();
    if (!at->is_object()) {
      throw JobError(fmt::format("--set {}: {} is {}; it has no keys", setting,
                                 path.substr(0, start == 0 ? 0 : start - 1), describe(*at)));
    }
    at = &(*at)[key];
    if (dot == std::string_view::npos) return *at;
    start = dot + 1;
  }
}

// JSON where it is JSON, else the text itself.
json override_value(const std::string& text, const std::string& setting) {
  json value = json::parse(text, KeyWatch("--set " + setting), /*allow_exceptions=*/false);
  if (!value.is_discarded()) return value;
  value = text;
  try {
    static_cast<void>(value.dump());
  } catch (const json::exception&) {
    throw JobError("--set: the value is not UTF-8 text");
  }
  return value;
}

}  // namespace

json parse_json(std::string_view text, const std::string& origin) {
  try {
    return json::parse(text.begin(), text.end(), KeyWatch(origin), /*allow_exceptions=*/true,
                       /*ignore_comments=*/true);
  } catch (const json::parse_error& error) {
    const std::size_t byte = error.byte == 0 ? 0 : error.byte - 1;
    throw JobError(fmt::format("{}:{}: {}", origin, line_and_column(text, byte), reason_of(error)));
  } catch (const json::exception& error) {
    throw JobError(fmt::format("{}: {}", origin, reason_of(error)));
  }
}

void apply_override(json& root, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  const std::string_view path = std::string_view(setting).substr(0, equals);
  if (equals == std::string::npos || path.empty()) {
    throw JobError(fmt::format("--set {}: expected KEY=VALUE, such as data.batch=64", setting));
  }
  json value = override_value(setting.substr(equals + 1), setting);
  const std::string_view other = value.is_null() ? std::string_view() : counterpart(path);
  if (!other.empty()) descend(root, other, setting) = nullptr;
  descend(root, path, setting) = std::move(value);
}

std::string describe(const json& value) {
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  if (value.is_object()) return "an object";
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() <= kLongestShown) return text;
  // Not in the midst of a UTF-8 character.
  std::size_t end = kLongestShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace lockstep::runtime
