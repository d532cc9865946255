// NCCL's side of its tuner interface: the structs as NCCL declares them, written here a second
// time and independently of the plug-in, and a library opened as NCCL opens it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::topology::test::nccl {

enum Result { ok = 0 };
enum LogLevel { log_none, log_version, log_warn, log_info, log_abort, log_trace };
enum Function : int { broadcast, reduce, all_gather, reduce_scatter, all_reduce, send_recv };

using Log = void (*)(LogLevel, unsigned long flags, const char* file, int line, const char* format,
                     ...);

struct Domains {
  int domains, least_ranks, most_ranks;
};

struct Model {
  double base_latencies[7][3];
  double hardware_latencies[3][7][3];
  double bandwidths[5][4][3];
};

struct TunerV2 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Log, void** context);
  Result (*info)(void* context, Function, std::size_t bytes, int collnet, int nvls, int pipe_ops,
                 int* algorithm, int* protocol, int* channels);
  Result (*destroy)(void* context);
};

struct TunerV3 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Log, void** context);
  Result (*info)(void* context, Function, std::size_t bytes, int pipe_ops, float** costs,
                 int algorithms, int protocols, int* channels);
  Result (*destroy)(void* context);
};

struct TunerV4 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Log, void** context);
  Result (*info)(void* context, Function, std::size_t bytes, int pipe_ops, float** costs,
                 int algorithms, int protocols, int registered, int* channels);
  Result (*destroy)(void* context);
};

struct TunerV5 {
  const char* name;
  Result (*init)(void** context, std::uint64_t id, std::size_t ranks, std::size_t nodes, Log,
                 Domains*, Model*);
  Result (*info)(void* context, Function, std::size_t bytes, int pipe_ops, float** costs,
                 int algorithms, int protocols, int registered, int* channels);
  Result (*finalize)(void* context);
};

struct TunerV6 {
  const char* name;
  Result (*init)(void** context, std::uint64_t id, std::size_t ranks, std::size_t nodes, Log,
                 Domains*, Model*);
  Result (*info)(void* context, Function, std::size_t bytes, int pipe_ops, float** costs,
                 int algorithms, int protocols, int registered, int* channels);
  Result (*finalize)(void* context);
  Result (*chunk)(void* context, Function, std::size_t bytes, int algorithm, int protocol,
                  int channels, std::size_t* bytes_of_chunk);
};

// The plug-in, opened with NOW | LOCAL. Throws where it does not open.
class Library {
 public:
  Library();

  // The struct of version 2 to 6; null where it is not exported.
  [[nodiscard]] const void* symbol(int version) const;
  template <typename Tuner>
  [[nodiscard]] const Tuner& tuner(int version) const {
    return *static_cast<const Tuner*>(symbol(version));
  }

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  std::unique_ptr<void, Close> handle_;
};

// One question of NCCL's.
struct Question {
  Function function = all_reduce;
  std::size_t bytes = 0;
  int pipe_ops = 1;
  int registered = 0;
};

// A communicator of NCCL that talks version 3, 4, 5 or 6.
class Communicator {
 public:
  // REQUIRES: `library` outlives it.
  Communicator(const Library& library, int version, std::size_t nodes, std::size_t ranks);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // Any number of threads may ask at once.
  Result ask(const Question& question, float* costs, int algorithms, int protocols,
             int* channels) const;

 private:
  template <typename Tuner>
  [[nodiscard]] const Tuner& as() const {
    return *static_cast<const Tuner*>(tuner_);
  }

  int version_;
  const void* tuner_;
  void* context_ = nullptr;
};

// A logger as NCCL hands it to plug-ins, and what was written by it since `clear_log`.
void log(LogLevel level, unsigned long flags, const char* file, int line, const char* format, ...)
    __attribute__((format(printf, 5, 6)));
[[nodiscard]] std::vector<std::string> logged();
void clear_log();

}  // namespace lockstep::topology::test::nccl
