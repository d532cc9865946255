// What the programs of nccl-tests print: how fast a collective was, by size.
//
// A run, not a machine. Old and new headers are read (with or without a root column, "error" or
// "#wrong"). Thread rule: pure functions. Source of the factors: nccl-tests, PERFORMANCE.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/finding.h"
#include "topology/readers/reading.h"

namespace lockstep::topology {

enum class Collective {
  unknown,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  reduce,
  gather,
  scatter,
  send_recv
};

struct NcclTestsTiming {
  double time_us = 0;
  double algbw_GBps = 0;              // bytes / time
  std::optional<double> busbw_GBps;   // as printed; empty where it is undefined: one rank
  std::optional<std::int64_t> wrong;  // elements; empty where it was not checked
  std::optional<double> error;        // old form: the largest difference
};

struct NcclTestsRow {
  std::uint64_t bytes = 0;  // of the whole buffer, for all_gather and reduce_scatter too
  std::uint64_t count = 0;  // elements; of all_gather and reduce_scatter a rank's
  std::string type, op;     // "float", "sum"; empty where the table has no such column
  std::optional<int> root;  // empty: none (-1)
  NcclTestsTiming out_of_place;
  std::optional<NcclTestsTiming> in_place;
};

struct NcclTestsTable {
  Collective collective = Collective::unknown;  // as the text says it
  std::optional<int> ranks;                     // as its header lists them
  std::string version;                          // of nccl-tests; empty where it is not printed
  std::vector<NcclTestsRow> rows;
  std::optional<double> average_busbw_GBps;
  std::optional<std::int64_t> out_of_bounds;
  std::vector<Finding> findings;  // rows that could not be read
};

// What algorithm bandwidth is multiplied by to compare it with the link's: 2(n-1)/n for all_reduce,
// (n-1)/n for all_gather, reduce_scatter, all_to_all, gather and scatter, 1 for the others. Empty
// for one rank, which uses no bus, and for an unknown collective. REQUIRES: ranks >= 1.
[[nodiscard]] std::optional<double> bus_factor(Collective collective, int ranks);

// "834.57", or "undefined".
[[nodiscard]] std::string bandwidth_to_string(std::optional<double> GBps);

// Where the text does not say who took part: the collective's family and the ranks that the ratio
// of the largest size's bandwidths allows. Ratios above 1 are of all_reduce, below of all_gather
// and its like (`collective` is then all_gather for all of them). Empty for a ratio of 1.
struct NcclTestsRun {
  Collective collective = Collective::unknown;
  int ranks = 0;
};
[[nodiscard]] std::optional<NcclTestsRun> infer_run(const NcclTestsTable& table);

[[nodiscard]] bool is_nccl_tests(std::string_view text);

// Errors: ReadError where no table is in the text.
[[nodiscard]] NcclTestsTable read_nccl_tests(const Recording& recording);

}  // namespace lockstep::topology
