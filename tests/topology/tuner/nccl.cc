#include "tests/topology/tuner/nccl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <stdexcept>

namespace lockstep::topology::test::nccl {
namespace {

// NCCL's logger takes no context, so what it was told lies here.
struct Lines {
  std::mutex mutex;
  std::vector<std::string> lines;
};

Lines& lines() {
  static Lines all;
  return all;
}

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

}  // namespace

Library::Library() : handle_(dlopen(LOCKSTEP_TUNER_PLUGIN, RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_) throw std::runtime_error(dlerror());
}

void Library::Close::operator()(void* handle) const {
  dlclose(handle);
}

const void* Library::symbol(int version) const {
  return dlsym(handle_.get(), fmt::format("ncclTunerPlugin_v{}", version).c_str());
}

Communicator::Communicator(const Library& library, int version, std::size_t nodes,
                           std::size_t ranks)
    : version_(version), tuner_(library.symbol(version)) {
  require(tuner_ != nullptr, "the version is not exported");
  if (version < 5) {
    const auto init = version == 3 ? as<TunerV3>().init : as<TunerV4>().init;
    require(init(ranks, nodes, log, &context_) == ok, "init failed");
    return;
  }
  Domains domains{1, static_cast<int>(ranks), static_cast<int>(ranks)};
  Model model;
  std::memset(&model, 0x5a, sizeof model);
  const Model before = model;
  const auto init = version == 5 ? as<TunerV5>().init : as<TunerV6>().init;
  require(init(&context_, 0x1234, ranks, nodes, log, &domains, &model) == ok, "init failed");
  require(std::memcmp(&before, &model, sizeof model) == 0, "NCCL's tuning model was changed");
}

Communicator::~Communicator() {
  if (version_ == 3) as<TunerV3>().destroy(context_);
  if (version_ == 4) as<TunerV4>().destroy(context_);
  if (version_ == 5) as<TunerV5>().finalize(context_);
  if (version_ == 6) as<TunerV6>().finalize(context_);
}

Result Communicator::ask(const Question& question, float* costs, int algorithms, int protocols,
                         int* channels) const {
  auto* table = reinterpret_cast<float**>(costs);
  if (version_ == 3) {
    return as<TunerV3>().info(context_, question.function, question.bytes, question.pipe_ops, table,
                              algorithms, protocols, channels);
  }
  const auto info = version_ == 4   ? as<TunerV4>().info
                    : version_ == 5 ? as<TunerV5>().info
                                    : as<TunerV6>().info;
  return info(context_, question.function, question.bytes, question.pipe_ops, table, algorithms,
              protocols, question.registered, channels);
}

void log(LogLevel level, unsigned long, const char*, int, const char* format, ...) {
  std::array<char, 2048> text;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  const std::scoped_lock lock(lines().mutex);
  lines().lines.push_back((level == log_warn ? "WARN " : "") + std::string(text.data()));
}

std::vector<std::string> logged() {
  const std::scoped_lock lock(lines().mutex);
  return lines().lines;
}

void clear_log() {
  const std::scoped_lock lock(lines().mutex);
  lines().lines.clear();
}

}  // namespace lockstep::topology::test::nccl
