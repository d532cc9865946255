// A model of one's own in a shared library, which a job of model kind "plugin" opens;
// docs/plugins.md walks through one.
//
//     #include "engine/plugin.h"
//     using namespace lockstep::engine;
//
//     ModelFunction my_model(const ModelRequest& request) {
//       return [classes = request.classes](ModelBuilder& b, ValueId image) {
//         return b.linear("fc", b.flatten("flatten", image), classes);
//       };
//     }
//     LOCKSTEP_MODEL_PLUGIN(my_model)
//
// What is behind the stamp is C++: plug-in and library must be compiled from the same headers, by
// the same compiler, under the same sanitizers. Lockstep reads the stamp before it calls anything
// else, and refuses a plug-in whose stamp is not its own.
//
// Thread rule: a plug-in's functions are called from one thread at a time. What they throw (derived
// from std::exception) ends the job; its text is shown to the user after the plug-in's name.
#pragma once

#include <cstdint>
#include <string>

#include "engine/device/visibility.h"
#include "engine/interface_id.h"
#include "engine/model.h"

namespace lockstep::engine {

// What a job asks of a plug-in's model.
struct ModelRequest {
  // The keys of the job's "model" that are the plug-in's own, as the JSON text of an object. A key
  // that it does not know is the plug-in's to refuse.
  std::string keys = "{}";
  SampleShape sample;        // what the data is
  std::int64_t classes = 0;  // labels are below it; of windows of tokens, the tokens too
};

// Which build a plug-in, or this library, is. Plain data, so that any build can read any other's;
// the texts live as long as what holds them is loaded.
struct PluginStamp {
  std::int32_t interface = 0;      // of this struct and the functions below; where it differs, what
                                   // follows is not read
  const char* library = nullptr;   // "0.1.0"
  const char* compiler = nullptr;  // "g++ 12.2.0"
  const char* build = nullptr;     // 16 hex digits: of the headers
};

// What a plug-in shows, by the names of LOCKSTEP_MODEL_PLUGIN. The second gives its model in
// `model`, since a C++ object cannot be returned by a function with a C name.
using PluginStampFunction = const PluginStamp*();
using PluginModelFunction = void(const ModelRequest& request, ModelFunction& model);

// Each of these must be the including file's own, whatever else is loaded: constants, and no inline
// functions or variables, which a process has once.
constexpr char kCompiler[] =
#if defined(__clang__)
    __VERSION__  // "Clang 14.0.6"
#else
    "g++ " __VERSION__
#endif
#if defined(_GLIBCXX_DEBUG)
    ", debug containers"
#endif
#if defined(__SANITIZE_ADDRESS__)
    ", address sanitizer"
#elif defined(__SANITIZE_THREAD__)
    ", thread sanitizer"
#endif
    ;
constexpr PluginStamp kPluginStamp{.interface = 1,
                                   .library = kHeadersVersion,
                                   .compiler = kCompiler,
                                   .build = kHeadersFingerprint};

}  // namespace lockstep::engine

// Makes the shared library it stands in a plug-in: once, at namespace scope.
// `make_model`: ModelFunction(const ModelRequest&). The model function it returns is called once
// for each program of the job and must build the same layers each time; logits are [labels, at
// least `classes`].
#define LOCKSTEP_MODEL_PLUGIN(make_model)                                                      \
  extern "C" LOCKSTEP_API const lockstep::engine::PluginStamp* lockstep_plugin_stamp() {       \
    return &lockstep::engine::kPluginStamp;                                                    \
  }                                                                                            \
  extern "C" LOCKSTEP_API void lockstep_plugin_model(                                          \
      const lockstep::engine::ModelRequest& request, lockstep::engine::ModelFunction& model) { \
    model = make_model(request);                                                               \
  }
