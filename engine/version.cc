#include "engine/version.h"

namespace lockstep::engine {

std::string_view version() {
  return LOCKSTEP_VERSION;
}

}  // namespace lockstep::engine
