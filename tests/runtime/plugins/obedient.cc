// A plug-in that names its layer after what it was asked for, or fails as its keys say.
#include <stdexcept>
#include <string>

#include "engine/plugin.h"

namespace {

using namespace lockstep::engine;

std::string asked(const ModelRequest& request) {
  const SampleShape& sample = request.sample;
  return request.keys + " " + std::to_string(sample.height) + "x" + std::to_string(sample.width) +
         "x" + std::to_string(sample.channels) + " context " + std::to_string(sample.context) +
         " classes " + std::to_string(request.classes);
}

bool told_to(const ModelRequest& request, const std::string& what) {
  return request.keys.find('"' + what + '"') != std::string::npos;
}

ModelFunction obedient(const ModelRequest& request) {
  if (told_to(request, "throw while making")) throw std::invalid_argument("model.do: will not");
  if (told_to(request, "throw a number")) throw 5;
  if (told_to(request, "make nothing")) return {};
  return [request](ModelBuilder& b, ValueId image) {
    if (told_to(request, "throw while building")) throw std::length_error("model.do: can not");
    if (told_to(request, "return nothing")) return ValueId{};
    const ValueId flat = b.flatten("flatten", image);
    return b.linear(asked(request), flat,
                    request.classes - (told_to(request, "forget one") ? 1 : 0));
  };
}

}  // namespace

LOCKSTEP_MODEL_PLUGIN(obedient)
