// How fast one node of a linear layer or a convolution runs, next to a large product measured
// beside it:
//
//   build/release/tests/bench/products [linear|pointwise|convolution]...
//
// On one thread, by its own CPU time and the best of many runs, so that what else the machine does
// counts little. Each pass with operands in f32, and stored in bf16 with leave to compute in it.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "engine/bfloat16.h"
#include "engine/cpu/kernels.h"
#include "engine/executor.h"
#include "engine/op.h"
#include "engine/passes.h"
#include "engine/plan.h"

namespace {

using namespace lockstep::engine;

double thread_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Input {
  Shape shape;
  Role role = Role::input;
};

struct Job {
  std::string op;
  std::vector<Input> inputs;
  Attributes attributes;
};

enum class Stored { f32, bf16 };

void fill(std::span<std::byte> bytes, DType type) {
  const std::size_t count = bytes.size() / size_of(type);
  for (std::size_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(i * 7919 % 257) / 128.0F - 1.0F;
    if (type == DType::bf16) {
      reinterpret_cast<BFloat16*>(bytes.data())[i] = to_bfloat16(value);
    } else if (type == DType::f32) {
      reinterpret_cast<float*>(bytes.data())[i] = value;
    }
  }
}

// GFLOP/s of the node in the best of its runs.
double rate_of(const Job& job, Stored stored, const KernelTable& kernels) {
  const OpTable ops = standard_ops();
  const DType type = stored == Stored::bf16 ? DType::bf16 : DType::f32;
  Graph graph;
  Node node{.op = job.op, .name = "node", .attributes = job.attributes};
  if (stored == Stored::bf16) node.attributes.set("compute", std::string("bf16"));
  for (std::size_t i = 0; i < job.inputs.size(); ++i) {
    const Input& input = job.inputs[i];
    node.inputs.push_back(
        input.shape.rank() == 0
            ? ValueId{}
            : graph.add_value({.name = fmt::format("in{}", i),
                               .dtype = input.role == Role::parameter ? DType::f32 : type,
                               .shape = input.shape,
                               .role = input.role}));
  }
  const auto outputs = emit(graph, ops, node);
  if (!job.op.ends_with("weights")) graph.value(outputs[0]).dtype = type;
  graph.set_result("out", outputs[0]);
  const double flops = ops.find(job.op).cost(graph, graph.node({0})).flops;

  // Derived weights are read as they are, whatever they hold.
  Graph main = schedule(layout(std::move(graph), ops, kernels), ops);
  PersistentPlacement placement;
  Bucket bucket;
  for (ValueId id : main.values_of(Role::parameter)) {
    bucket.parameters.push_back(main.value(id).name);
  }
  placement.place_parameters(main, {bucket});
  placement.place(main);
  Plan plan = plan_memory(place_events(std::move(main)), ops, placement);
  HeapMemory memory;
  const Arenas arenas(plan.arena_bytes, memory);
  Program program(std::move(plan), kernels, arenas);
  const Graph& planned = program.plan().graph;
  for (Role role : {Role::input, Role::parameter, Role::derived}) {
    for (ValueId id : planned.values_of(role)) {
      if (program.plan().placements[static_cast<std::size_t>(id.index)].used) {
        fill(program.bytes(id), planned.value(id).dtype);
      }
    }
  }
  InlineStream compute, communication;
  constexpr int kMostRuns = 60, kLeastRuns = 4;
  constexpr double kSeconds = 0.4;
  double best = 1e9, all = 0;
  for (int i = 0; i < kMostRuns && (all < kSeconds || i < kLeastRuns); ++i) {
    const double begin = thread_seconds();
    program.run(compute, communication);
    const double seconds = thread_seconds() - begin;
    best = std::min(best, seconds);
    all += seconds;
  }
  return flops / best / 1e9;
}

Job linear(const std::string& pass, std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
           const std::string& layout) {
  const Shape x{rows, inputs}, y{rows, outputs};
  const Shape w = layout == "in_out" ? Shape{inputs, outputs} : Shape{outputs, inputs};
  Attributes attributes{{"weight_layout", layout}};
  if (pass == "forward") {
    return {"linear", {{x}, {w, Role::parameter}, {{outputs}, Role::parameter}}, attributes};
  }
  if (pass == "data") return {"linear_backward_data", {{w, Role::parameter}, {y}}, attributes};
  attributes.set("bias", std::int64_t{1});
  return {"linear_backward_weights", {{x}, {y}}, attributes};
}

struct Convolution {
  std::int64_t images, size, inputs, outputs, kernel, stride, pad;
};

Job convolution(const std::string& pass, const Convolution& c) {
  const std::int64_t out = (c.size + 2 * c.pad - c.kernel) / c.stride + 1;
  const Shape x{c.images, c.size, c.size, c.inputs}, y{c.images, out, out, c.outputs};
  const Shape w{c.outputs, c.inputs, c.kernel, c.kernel};
  Attributes attributes{{"stride", c.stride}, {"pad", c.pad}};
  if (pass == "forward") return {"conv2d", {{x}, {w, Role::parameter}, {}}, attributes};
  if (pass == "data") {
    attributes.set("height", c.size);
    attributes.set("width", c.size);
    return {"conv2d_backward_data", {{w, Role::parameter}, {y}}, attributes};
  }
  attributes.set("kernel_h", c.kernel);
  attributes.set("kernel_w", c.kernel);
  attributes.set("bias", std::int64_t{0});
  return {"conv2d_backward_weights", {{x}, {y}}, attributes};
}

// One line a layer; shares are those of a large product measured beside it, since the machine's
// clock and what else it does change while this runs.
class Table {
 public:
  explicit Table(const KernelTable& kernels) : kernels_(kernels) {
    fmt::print("{:40} {:>7}  {:^23} {:^23} {:^23}\n",
               "GFLOP/s (share of the large product):", "large", "forward", "gradient of weights",
               "gradient of data");
    fmt::print("{:40} {:>7} {}\n", "", "f32",
               "     f32   stored bf16   f32   stored bf16   f32   stored bf16");
  }

  template <class MakeJob>
  void row(const std::string& name, const MakeJob& job) {
    const Job large = linear("forward", 1024, 768, 768, "out_in");
    double ceiling = rate_of(large, Stored::f32, kernels_);
    struct Rates {
      double f32, bf16;
    };
    std::vector<Rates> passes;
    for (const char* pass : {"forward", "weights", "data"}) {
      passes.push_back(
          {rate_of(job(pass), Stored::f32, kernels_), rate_of(job(pass), Stored::bf16, kernels_)});
      ceiling = std::max(ceiling, rate_of(large, Stored::f32, kernels_));
    }
    fmt::print("{:40} {:7.0f}", name, ceiling);
    for (const Rates& r : passes) {
      fmt::print("  {:4.0f} ({:3.0f}%) {:4.0f} ({:3.0f}%)", r.f32, 100 * r.f32 / ceiling, r.bf16,
                 100 * r.bf16 / ceiling);
    }
    fmt::print("\n");
    std::fflush(stdout);
  }

 private:
  const KernelTable& kernels_;
};

void linear_rows(Table& table) {
  struct Layer {
    std::int64_t rows, inputs, outputs;
    const char* layout;
  };
  for (const Layer& l : std::initializer_list<Layer>{{512, 768, 2304, "in_out"},
                                                     {512, 768, 768, "in_out"},
                                                     {512, 768, 3072, "in_out"},
                                                     {512, 3072, 768, "in_out"},
                                                     {512, 768, 50257, "out_in"},
                                                     {2048, 384, 1152, "in_out"},
                                                     {2048, 384, 384, "in_out"},
                                                     {2048, 384, 1536, "in_out"},
                                                     {2048, 1536, 384, "in_out"}}) {
    table.row(fmt::format("linear {} x {} -> {} {}", l.rows, l.inputs, l.outputs, l.layout),
              [&](const std::string& pass) {
                return linear(pass, l.rows, l.inputs, l.outputs, l.layout);
              });
  }
}

void convolution_rows(Table& table, const std::vector<Convolution>& convolutions) {
  for (const Convolution& c : convolutions) {
    table.row(fmt::format("{}x{} /{} {}x{}x{}x{} -> {}", c.kernel, c.kernel, c.stride, c.images,
                          c.size, c.size, c.inputs, c.outputs),
              [&](const std::string& pass) { return convolution(pass, c); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> groups(argv + 1, argv + argc);
  if (groups.empty()) groups = {"linear", "pointwise", "convolution"};
  const KernelTable kernels = cpu::kernels(1);
  Table table(kernels);
  for (const std::string& group : groups) {
    if (group == "linear") {  // GPT-2 124M, two windows of 256; GPT 6x384, eight of 256
      linear_rows(table);
    } else if (group == "pointwise") {  // ResNet-50, batch 8
      convolution_rows(table, {{8, 56, 64, 64, 1, 1, 0},
                               {8, 56, 64, 256, 1, 1, 0},
                               {8, 56, 256, 64, 1, 1, 0},
                               {8, 56, 256, 512, 1, 2, 0},
                               {8, 28, 128, 512, 1, 1, 0},
                               {8, 28, 512, 128, 1, 1, 0},
                               {8, 28, 512, 1024, 1, 2, 0},
                               {8, 14, 256, 1024, 1, 1, 0},
                               {8, 14, 1024, 256, 1, 1, 0},
                               {8, 14, 1024, 2048, 1, 2, 0},
                               {8, 7, 512, 2048, 1, 1, 0},
                               {8, 7, 2048, 512, 1, 1, 0}});
    } else if (group == "convolution") {
      convolution_rows(table, {{8, 224, 3, 64, 7, 2, 3},
                               {8, 56, 64, 64, 3, 1, 1},
                               {8, 56, 128, 128, 3, 2, 1},
                               {8, 28, 128, 128, 3, 1, 1},
                               {8, 28, 256, 256, 3, 2, 1},
                               {8, 14, 256, 256, 3, 1, 1},
                               {8, 14, 512, 512, 3, 2, 1},
                               {8, 7, 512, 512, 3, 1, 1}});
    } else {
      fmt::print(stderr, "usage: products [linear|pointwise|convolution]...\n");
      return 2;
    }
  }
  return 0;
}
