// One worker of a host, as its agent holds it: the process, its two output pipes, its log.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/agent/line_splitter.h"
#include "launcher/agent/worker_setting.h"
#include "launcher/process/spawn.h"
#include "launcher/protocol/message.h"

namespace lockstep::launcher {

// A descriptor with the job's secret, sealed, at its start; one a worker, so that none moves
// another's position. Closed on exec.
class SecretFile {
 public:
  explicit SecretFile(const std::string& secret);
  [[nodiscard]] UniqueFd open() const;

 private:
  UniqueFd memory_;
};

struct WorkerStream {
  UniqueFd fd;
  Stream stream = Stream::kOut;
  LeadOutput output = LeadOutput::kLines;
  LineSplitter lines;
};

struct Worker {
  std::uint32_t rank = 0;
  Process process;
  UniqueFd log;
  std::array<WorkerStream, 2> streams;
  bool ended = false;
};

// Opens the log, starts the process. Throws SpawnError or std::system_error.
[[nodiscard]] Worker start_worker(const HostJob& job, std::uint32_t local_rank,
                                  const SecretFile& secret, const WorkerSetting& setting);

}  // namespace lockstep::launcher
