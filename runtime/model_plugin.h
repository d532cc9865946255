// A model from a plug-in (engine/plugin.h): opened, checked and asked for its model function.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "engine/device/visibility.h"
#include "engine/model.h"

namespace lockstep::runtime {

// A plug-in that cannot be used, or what it threw. The message begins with its file.
class LOCKSTEP_API PluginError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct PluginModel {
  std::filesystem::path file;
  std::string keys = "{}";  // the plug-in's own, the JSON text of an object
};

// The plug-in stays loaded as long as the function or a copy of it lives. Throws PluginError: the
// file is not there, is no plug-in, or is one of another build (the message has both stamps); or
// the plug-in threw. The function throws it too, also where it returns too few logits for
// `classes`. REQUIRES: `file` is absolute. Cost: running the static initialisers of what is loaded.
[[nodiscard]] LOCKSTEP_API engine::ModelFunction model_of_plugin(const PluginModel& plugin,
                                                                 const engine::SampleShape& sample,
                                                                 std::int64_t classes);

// What a plug-in's stamp must be, in words.
[[nodiscard]] LOCKSTEP_API std::string plugin_stamp();

}  // namespace lockstep::runtime
