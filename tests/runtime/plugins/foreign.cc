// A plug-in that another build would have made: its stamp is not this one's, its model must not be
// asked for, and it may want a function that this version does not have.
#include <cstdlib>

#include "engine/plugin.h"

#ifdef FOREIGN_WANTS_MORE
void only_in_another_version();
#endif

extern "C" LOCKSTEP_API const lockstep::engine::PluginStamp* lockstep_plugin_stamp() {
  static constexpr lockstep::engine::PluginStamp kStamp{.interface = FOREIGN_INTERFACE,
                                                        .library = "7.8.9",
                                                        .compiler = "g++ 99.1",
                                                        .build = "0123456789abcdef"};
  return &kStamp;
}

extern "C" LOCKSTEP_API void lockstep_plugin_model(const lockstep::engine::ModelRequest&,
                                                   lockstep::engine::ModelFunction&) {
#ifdef FOREIGN_WANTS_MORE
  only_in_another_version();
#endif
  std::abort();
}
