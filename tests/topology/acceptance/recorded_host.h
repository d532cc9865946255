// A host as the program sees one from recordings: read, merged, judged and advised.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "topology/advice/advice.h"
#include "topology/machine.h"
#include "topology/paths.h"

namespace lockstep::topology::test {

struct RecordedHost {
  Machine machine;  // with what judging found
  PathTable paths;
  HostAdvice advice;
};

[[nodiscard]] RecordedHost host_of(Machine machine, AdviceOptions options = {});

// Of the recordings of that name in the corpus; nothing where one is absent.
[[nodiscard]] std::optional<RecordedHost> recorded_host(const std::vector<std::string>& names,
                                                        AdviceOptions options = {});

// The value that is to be set, not one that is kept; empty where none is.
[[nodiscard]] std::string value_of(const HostAdvice& advice, const std::string& variable);

// Why it is not set; empty where nothing is said of it.
[[nodiscard]] std::string unset_reason(const HostAdvice& advice, const std::string& variable);

// "GPU0 mlx5_0 PIX", in the order of the GPUs.
[[nodiscard]] std::vector<std::string> rails_of(const HostAdvice& advice);

// The findings of that code, "severity: message" each.
[[nodiscard]] std::vector<std::string> findings_of(const Machine& machine, const std::string& code);

// Codes of errors and warnings, each once, in alphabetical order.
[[nodiscard]] std::vector<std::string> alarms_of(const Machine& machine);

}  // namespace lockstep::topology::test

// `host` of the named recordings, for a test that is skipped without them.
#define RECORDED_OR_SKIP(host, ...)                                         \
  const auto host = ::lockstep::topology::test::recorded_host(__VA_ARGS__); \
  if (!host) GTEST_SKIP() << "SKIPPED: the recordings are absent"
