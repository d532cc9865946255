#include "runtime/model_plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "engine/plugin.h"

namespace lockstep::runtime {
namespace {

using engine::kPluginStamp;
using engine::PluginStamp;
using std::filesystem::path;

struct Close {
  void operator()(void* library) const { ::dlclose(library); }
};
using Library = std::unique_ptr<void, Close>;

[[noreturn]] void refuse(const path& file, std::string_view reason) {
  throw PluginError(fmt::format("plug-in {}: {}", file.string(), reason));
}

// What the loader last complained of, without the file's name.
std::string loader_says(const path& file) {
  const char* said = ::dlerror();
  const std::string text = said ? said : "no reason given";
  const std::string prefix = file.string() + ": ";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

std::string text_of(const PluginStamp& stamp) {
  return fmt::format("Lockstep {} (build {}, {})", stamp.library, stamp.build, stamp.compiler);
}

bool same(const char* one, const char* other) {
  return std::string_view(one) == other;
}

// Throws where the library's stamp is not this one's. Reads nothing of a stamp of another
// interface.
void require_own_stamp(const path& file, void* library) {
  constexpr std::string_view kRemedy =
      "build it again against this version of Lockstep, with the same compiler";
  const auto stamp_of =
      reinterpret_cast<engine::PluginStampFunction*>(::dlsym(library, "lockstep_plugin_stamp"));
  if (!stamp_of) {
    refuse(file,
           "a shared library, but no plug-in of Lockstep: it has no lockstep_plugin_stamp; its "
           "source must say LOCKSTEP_MODEL_PLUGIN (engine/plugin.h)");
  }
  const PluginStamp& found = *stamp_of();
  if (found.interface != kPluginStamp.interface) {
    refuse(file,
           fmt::format("of another build: its plug-in interface is number {}, that of this "
                       "{} is number {}; {}",
                       found.interface, text_of(kPluginStamp), kPluginStamp.interface, kRemedy));
  }
  if (same(found.library, kPluginStamp.library) && same(found.compiler, kPluginStamp.compiler) &&
      same(found.build, kPluginStamp.build)) {
    return;
  }
  refuse(file, fmt::format("of another build: it was built for {}, this is {}; {}", text_of(found),
                           text_of(kPluginStamp), kRemedy));
}

Library open(const path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    refuse(file, "no such file; build it, or correct model.path");
  }
  Library library(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library) {
    require_own_stamp(file, library.get());
    return library;
  }
  const std::string reason = loader_says(file);
  // One of another version may want functions that this one does not have: its stamp tells why.
  if (const Library unbound{::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL)}) {
    require_own_stamp(file, unbound.get());
  }
  refuse(file, fmt::format("cannot be loaded as a shared library: {}", reason));
}

// The plug-in's code, run; what it throws, as a PluginError.
template <typename Call>
void run_in(const path& file, Call call) {
  try {
    call();
  } catch (const std::exception& error) {
    refuse(file, error.what());
  } catch (...) {
    refuse(file, "threw something that is no std::exception");
  }
}

// The members are destroyed last to first: the function's code lies in the library.
struct Opened {
  path file;
  Library library;
  std::int64_t classes = 0;
  engine::ModelFunction function = {};
};

void require_logits(const Opened& plugin, engine::ModelBuilder& builder, engine::ValueId logits) {
  if (!logits.valid() || logits.index >= builder.graph().value_count()) {
    refuse(plugin.file, "its model returned no logits");
  }
  const engine::Shape& shape = builder.shape(logits);
  if (shape.rank() == 2 && shape[1] >= plugin.classes) return;
  refuse(
      plugin.file,
      fmt::format("its model returned logits of shape {}, expected a row a label and at least {} "
                  "columns, the classes of the job",
                  shape.text(), plugin.classes));
}

}  // namespace

std::string plugin_stamp() {
  return text_of(kPluginStamp);
}

engine::ModelFunction model_of_plugin(const PluginModel& plugin, const engine::SampleShape& sample,
                                      std::int64_t classes) {
  const path& file = plugin.file;
  const auto opened =
      std::make_shared<Opened>(Opened{.file = file, .library = open(file), .classes = classes});
  const auto make = reinterpret_cast<engine::PluginModelFunction*>(
      ::dlsym(opened->library.get(), "lockstep_plugin_model"));
  if (!make) refuse(file, "it has a stamp, but no lockstep_plugin_model");
  run_in(file, [&] {
    make({.keys = plugin.keys, .sample = sample, .classes = classes}, opened->function);
  });
  if (!opened->function) refuse(file, "it gave no model function");
  return [opened](engine::ModelBuilder& builder, engine::ValueId samples) {
    engine::ValueId logits;
    run_in(opened->file, [&] { logits = opened->function(builder, samples); });
    require_logits(*opened, builder, logits);
    return logits;
  };
}

}  // namespace lockstep::runtime
