// A measured table: which algorithm, protocol and number of channels is fastest for a collective of
// a size, on so many nodes and ranks.
//
// A line each, in the format of NVIDIA's example plug-in:
//
//   # collective,min,max,algorithm,protocol,channels,nodes,ranks[,pipe operations[,registered]]
//   allreduce,0,65536,tree,ll,-1,2,16
//   allreduce,65537,-1,ring,simple,16,-1,-1,-1,1
//
// Sizes are bytes, both ends included; -1 is any (of channels: NCCL's own number). `#` starts a
// comment; empty lines, a heading, blanks around fields and CRLF are taken. Names are read in
// either case, with or without underscores: broadcast, reduce, allgather, reducescatter, allreduce;
// tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat; ll, ll128, simple. Of the lines
// that match, the first counts.
//
// Thread rule: pure functions of values. Free of other libraries: it becomes part of a plug-in that
// any program may load.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::topology::tuner {

// In NCCL's numbers (ncclFunc_t, NCCL_ALGO_*, NCCL_PROTO_*).
enum class Collective { broadcast, reduce, all_gather, reduce_scatter, all_reduce };
enum class Algorithm { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
enum class Protocol { ll, ll128, simple };

inline constexpr int kAny = -1;
inline constexpr int kMostChannels = 64;  // NCCL's MAXCHANNELS

struct Row {
  Collective collective = Collective::all_reduce;
  std::uint64_t min_bytes = 0, max_bytes = UINT64_MAX;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = kAny;
  int nodes = kAny, ranks = kAny;
  int pipe_ops = kAny;    // operations of the group
  int registered = kAny;  // 1: the user's buffer is registered

  bool operator==(const Row&) const = default;
};

struct RowError {
  int line = 0;
  std::string message;  // what was expected, what was found
};

struct Table {
  std::vector<Row> rows;         // in the order of the lines
  std::vector<RowError> errors;  // of the lines that were passed over
};

// Cost: linear in `text`.
[[nodiscard]] Table parse_table(std::string_view text);

}  // namespace lockstep::topology::tuner
