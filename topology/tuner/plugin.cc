// libnccl-tuner-lockstep.so: the tuner plug-in, in every version of NCCL's interface.
//
// The table is the file that LOCKSTEP_TUNER_TABLE names, else NCCL_TUNER_CONFIG_FILE. A failure in
// `init` would fail the communicator, so none is reported there: a table that cannot be read is
// warned of in NCCL's log, and the plug-in leaves every choice to NCCL.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "topology/tuner/abi.h"
#include "topology/tuner/table.h"
#include "topology/tuner/tuner.h"

namespace lockstep::topology::tuner {
namespace {

constexpr std::size_t kLargestTable = 16 << 20;
constexpr std::size_t kErrorsShown = 20;

void say(abi::Logger log, int level, const std::string& text) {
  if (log) log(level, abi::kLogTuning, "lockstep tuner", 0, "TUNER/lockstep: %s", text.c_str());
}

const char* table_path() {
  for (const char* variable : {"LOCKSTEP_TUNER_TABLE", "NCCL_TUNER_CONFIG_FILE"}) {
    const char* path = std::getenv(variable);
    if (path && *path) return path;
  }
  return nullptr;
}

// C's, since streams would bring all of the C++ library's locales into the plug-in.
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// Empty where it cannot be read, which is said.
std::string read_file(const std::string& path, abi::Logger log) {
  errno = 0;
  const File file(std::fopen(path.c_str(), "rb"));
  std::string text;
  std::array<char, 1 << 16> part;
  for (std::size_t got = 1; file && got > 0 && text.size() <= kLargestTable;) {
    got = std::fread(part.data(), 1, part.size(), file.get());
    text.append(part.data(), got);
  }
  std::string problem;
  if (!file || std::ferror(file.get())) {
    problem = std::strerror(errno);
  } else if (text.size() > kLargestTable) {
    problem = "it is larger than 16 MiB";
  }
  if (problem.empty()) return text;
  say(log, abi::kLogWarn,
      path + " cannot be read: " + problem +
          "; NCCL's own choices stay. It is the measured table "
          "that LOCKSTEP_TUNER_TABLE or NCCL_TUNER_CONFIG_FILE names.");
  return {};
}

std::unique_ptr<Tuner> tuner_of(World world, abi::Logger log) {
  const char* named = table_path();
  if (!named) {
    say(log, abi::kLogInfo,
        "neither LOCKSTEP_TUNER_TABLE nor NCCL_TUNER_CONFIG_FILE is set; NCCL's own choices stay");
    return nullptr;
  }
  const std::string path = named;
  const Table table = parse_table(read_file(path, log));
  for (std::size_t i = 0; i < table.errors.size() && i < kErrorsShown; ++i) {
    say(log, abi::kLogWarn,
        path + ":" + std::to_string(table.errors[i].line) + ": " + table.errors[i].message +
            "; this row is passed over");
  }
  if (table.errors.size() > kErrorsShown) {
    say(log, abi::kLogWarn,
        path + ": " + std::to_string(table.errors.size() - kErrorsShown) + " more rows like these");
  }
  auto tuner = std::make_unique<Tuner>(table.rows, world);
  say(log, abi::kLogInfo,
      path + ": " + std::to_string(tuner->rows()) + " of " + std::to_string(table.rows.size()) +
          " rows are for " + std::to_string(world.nodes) + " nodes, " +
          std::to_string(world.ranks) + " ranks");
  return tuner;
}

int init(World world, abi::Logger log, void** context) noexcept {
  if (!context) return abi::kSuccess;
  *context = nullptr;
  try {
    *context = tuner_of(world, log).release();
  } catch (...) {  // out of memory: to be passive is all that is left
  }
  return abi::kSuccess;
}

int destroy(void* context) noexcept {
  const std::unique_ptr<Tuner> owner(static_cast<Tuner*>(context));
  return abi::kSuccess;
}

int choose(void* context, const Call& call, const Costs& costs, int* channels) noexcept {
  if (const auto* tuner = static_cast<const Tuner*>(context)) tuner->choose(call, costs, channels);
  return abi::kSuccess;
}

int init_v2(std::size_t ranks, std::size_t nodes, abi::Logger log, void** context) {
  return init({.ranks = ranks, .nodes = nodes}, log, context);
}

int init_v5(void** context, std::uint64_t, std::size_t ranks, std::size_t nodes, abi::Logger log,
            abi::NvlinkDomains*, abi::Constants*) {
  return init({.ranks = ranks, .nodes = nodes}, log, context);
}

int choose_v2(void* context, int collective, std::size_t bytes, int collnet_support,
              int nvls_support, int pipe_ops, int* algorithm, int* protocol, int* channels) {
  const auto* tuner = static_cast<const Tuner*>(context);
  if (!tuner || !algorithm || !protocol) return abi::kSuccess;
  const Row* row = tuner->choose(
      {.collective = collective, .bytes = bytes, .pipe_ops = pipe_ops, .registered = {}},
      Support{.collnet = collnet_support != 0, .nvls = nvls_support != 0});
  if (!row) return abi::kSuccess;
  *algorithm = static_cast<int>(row->algorithm);
  *protocol = static_cast<int>(row->protocol);
  if (channels && row->channels != kAny) *channels = row->channels;
  return abi::kSuccess;
}

int choose_v3(void* context, int collective, std::size_t bytes, int pipe_ops, abi::CostTable costs,
              int algorithms, int protocols, int* channels) {
  return choose(context,
                {.collective = collective, .bytes = bytes, .pipe_ops = pipe_ops, .registered = {}},
                {reinterpret_cast<float*>(costs), algorithms, protocols}, channels);
}

int choose_v4(void* context, int collective, std::size_t bytes, int pipe_ops, abi::CostTable costs,
              int algorithms, int protocols, int registered, int* channels) {
  return choose(
      context,
      {.collective = collective, .bytes = bytes, .pipe_ops = pipe_ops, .registered = registered},
      {reinterpret_cast<float*>(costs), algorithms, protocols}, channels);
}

constexpr const char* kName = "lockstep";

}  // namespace
}  // namespace lockstep::topology::tuner

#define LOCKSTEP_VISIBLE extern "C" __attribute__((visibility("default"))) constinit const

namespace tuner = lockstep::topology::tuner;

LOCKSTEP_VISIBLE tuner::abi::V2 ncclTunerPlugin_v2{tuner::kName, tuner::init_v2, tuner::choose_v2,
                                                   tuner::destroy};
LOCKSTEP_VISIBLE tuner::abi::V3 ncclTunerPlugin_v3{tuner::kName, tuner::init_v2, tuner::choose_v3,
                                                   tuner::destroy};
LOCKSTEP_VISIBLE tuner::abi::V4 ncclTunerPlugin_v4{tuner::kName, tuner::init_v2, tuner::choose_v4,
                                                   tuner::destroy};
LOCKSTEP_VISIBLE tuner::abi::V5 ncclTunerPlugin_v5{tuner::kName, tuner::init_v5, tuner::choose_v4,
                                                   tuner::destroy};
LOCKSTEP_VISIBLE tuner::abi::V6 ncclTunerPlugin_v6{tuner::kName, tuner::init_v5, tuner::choose_v4,
                                                   tuner::destroy, nullptr};
