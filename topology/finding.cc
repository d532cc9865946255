#include "topology/finding.h"

namespace lockstep::topology {

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::info:
      return "info";
  }
  return {};
}

}  // namespace lockstep::topology
