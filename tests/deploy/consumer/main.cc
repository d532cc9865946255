// Builds the training graph of a small model of its own and checks what the library makes of it.
#include <cstdio>
#include <string>
#include <string_view>

#include "engine/error.h"
#include "engine/model.h"
#include "engine/version.h"

namespace {

using namespace lockstep::engine;

int failures = 0;

void check(bool holds, std::string_view promise) {
  if (holds) return;
  std::fprintf(stderr, "wrong: %.*s\n", static_cast<int>(promise.size()), promise.data());
  ++failures;
}

ValueId my_model(ModelBuilder& b, ValueId image) {
  ValueId x = b.convolution("conv", image, {.channels = 4, .kernel = 3, .pad = 1});
  x = b.max_pool("pool", b.relu("relu", x), {.size = 2, .stride = 2});
  return b.linear("head", b.flatten("flatten", x), 3);
}

}  // namespace

int main() {
  const OpTable ops = standard_ops();
  const BuiltModel built =
      build_training(my_model, ops, {.sample = {8, 8, 1}, .batch = 5}, MicroStep::whole);
  const std::string dump = built.graph.dump();
  std::printf("Lockstep %s\n%s", std::string(version()).c_str(), dump.c_str());

  check(dump.find("conv: conv2d(") != std::string::npos, "the dump names the convolution");
  check(dump.find("f32[5x8x8x4]") != std::string::npos, "its output has 4 channels");
  check(dump.find("head.weight") != std::string::npos, "the dump names the head's weight");
  check(built.graph.values_of(Role::parameter).size() == 4, "four parameters");
  check(built.initial_values.size() == 4, "each parameter has an initial value");
  try {
    (void)ops.find("conv3d");
    check(false, "an unknown op is refused");
  } catch (const Error& error) {
    check(std::string_view(error.what()).find("conv3d") != std::string_view::npos,
          "the refusal names the op");
  }
  return failures == 0 ? 0 : 1;
}
