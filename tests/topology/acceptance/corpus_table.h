// What the sidecars of the recordings say of them, one row a recording.
#pragma once

#include <string>
#include <vector>

namespace lockstep::topology::test {

// A recording of a host. 0 of a kind: the recording has none, or does not say.
struct RecordedCounts {
  std::string file;
  int gpus = 0, nics = 0, numa = 0;
  // Codes of the errors and warnings it deserves; none: it is healthy.
  std::vector<std::string> alarms = {};
};

// A recording of a fabric.
struct RecordedFabric {
  std::string file;
  int switches = 0, hcas = 0, blocks = 0;
};

// A recording that is refused, and a phrase of the reason.
struct RefusedRecording {
  std::string file, reason;
};

// A recording of settings, and how many concern NCCL.
struct RecordedSettings {
  std::string file;
  int settings = 0;
};

[[nodiscard]] const std::vector<RecordedCounts>& recorded_counts();
[[nodiscard]] const std::vector<RecordedFabric>& recorded_fabrics();
[[nodiscard]] const std::vector<RefusedRecording>& refused_recordings();
[[nodiscard]] const std::vector<RecordedSettings>& recorded_settings();

}  // namespace lockstep::topology::test
