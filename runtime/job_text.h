// A job file's text as JSON, before anything is known of its keys.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace lockstep::runtime {

// JSON with // and /* */ comments. Throws JobError: syntax errors as FILE:LINE:COLUMN, and a key
// that stands twice in one object, which JSON readers otherwise settle silently.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& origin);

// Sets one key from "data.batch=64", making objects on the way where there are none. Throws
// JobError.
void apply_override(nlohmann::json& root, const std::string& setting);

// A value for a message: short, whatever its size.
[[nodiscard]] std::string describe(const nlohmann::json& value);

}  // namespace lockstep::runtime
