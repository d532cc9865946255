// The interface by which NCCL calls a tuner plug-in, in its versions 2 to 6.
//
// Declared from the published one: NCCL's src/include/plugin/tuner/tuner_v2.h to tuner_v6.h and
// plugins/tuner/example/nccl/common.h. NCCL opens the library with dlopen(NOW | LOCAL) and takes
// the first it finds of the symbols ncclTunerPlugin_v6, _v5, ... that it knows; each is a struct of
// functions. C enums are passed as int. NCCL 2.21 knows version 2; 2.22, 3; 2.24, 4; 2.28, 5; 2.30,
// 6.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::topology::tuner::abi {

// ncclResult_t. Anything but success makes a communicator fail in `init`, and lets NCCL choose for
// itself in `get_coll_info`.
inline constexpr int kSuccess = 0;

// ncclDebugLogLevel and ncclDebugLogSubSys.
inline constexpr int kLogWarn = 2;
inline constexpr int kLogInfo = 3;
inline constexpr unsigned long kLogTuning = 64;
using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

// The cost table is declared as float**, but is one block float[algorithms][protocols] of
// microseconds. An entry of -1 is not available; the smallest of the others wins.
using CostTable = float**;

// How the ranks spread over NVLink domains. Not needed here, so not looked into.
struct NvlinkDomains;
// NCCL's tuning model, which a plug-in may rewrite. Not touched here.
struct Constants;

struct V2 {
  const char* name;
  int (*init)(std::size_t ranks, std::size_t nodes, Logger log, void** context);
  int (*get_coll_info)(void* context, int collective, std::size_t bytes, int collnet_support,
                       int nvls_support, int pipe_ops, int* algorithm, int* protocol,
                       int* channels);
  int (*destroy)(void* context);
};

struct V3 {
  const char* name;
  int (*init)(std::size_t ranks, std::size_t nodes, Logger log, void** context);
  int (*get_coll_info)(void* context, int collective, std::size_t bytes, int pipe_ops,
                       CostTable costs, int algorithms, int protocols, int* channels);
  int (*destroy)(void* context);
};

struct V4 {
  const char* name;
  int (*init)(std::size_t ranks, std::size_t nodes, Logger log, void** context);
  int (*get_coll_info)(void* context, int collective, std::size_t bytes, int pipe_ops,
                       CostTable costs, int algorithms, int protocols, int registered,
                       int* channels);
  int (*destroy)(void* context);
};

struct V5 {
  const char* name;
  int (*init)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes,
              Logger log, NvlinkDomains* domains, Constants* constants);
  int (*get_coll_info)(void* context, int collective, std::size_t bytes, int pipe_ops,
                       CostTable costs, int algorithms, int protocols, int registered,
                       int* channels);
  int (*finalize)(void* context);
};

struct V6 {
  const char* name;
  int (*init)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes,
              Logger log, NvlinkDomains* domains, Constants* constants);
  int (*get_coll_info)(void* context, int collective, std::size_t bytes, int pipe_ops,
                       CostTable costs, int algorithms, int protocols, int registered,
                       int* channels);
  int (*finalize)(void* context);
  // Null: NCCL's chunk size stays.
  int (*get_chunk_size)(void* context, int collective, std::size_t bytes, int algorithm,
                        int protocol, int channels, std::size_t* chunk);
};

}  // namespace lockstep::topology::tuner::abi
