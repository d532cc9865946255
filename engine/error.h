// What the engine throws: a graph that cannot be, or a plan that must not run.
#pragma once

#include <stdexcept>

#include "engine/device/visibility.h"

namespace lockstep::engine {

// The message says which op or value, what was expected and what was found.
class LOCKSTEP_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace lockstep::engine
