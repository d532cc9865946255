// TensorBoard's event files: scalars that `tensorboard --logdir RUN` draws.
//
// A file is a sequence of TFRecords (u64 length, masked CRC-32C of it, payload, masked CRC-32C of
// the payload), each one an Event message; the first holds file_version "brain.Event:2". Messages
// and field numbers: tensorflow/core/util/event.proto and tensorflow/core/framework/summary.proto.
//
// TensorBoard follows the newest file of a folder only, and never returns to an older one: one file
// an attempt of a run, one live writer a folder. After a resume the file begins with a session
// start, at which TensorBoard drops what an earlier attempt wrote for later steps.
//
// Thread rule: one thread at a time; rank 0 writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/metrics/append_file.h"

namespace lockstep::runtime::metrics {

// The records of an event file, each with its framing; pure, so that tests can spell out their
// bytes. `time` is in seconds since 1970.
[[nodiscard]] std::vector<std::byte> event_file_header(double time);
[[nodiscard]] std::vector<std::byte> event_session_start(double time, std::int64_t first_step);
struct Scalar {
  std::string tag;  // as "train/loss"; tags with the same beginning are drawn together
  std::int64_t step = 0;
  float value = 0;
};
[[nodiscard]] std::vector<std::byte> event_scalar(double time, const Scalar& scalar);

// "events.out.tfevents.1637681485.HOST.PID.0": `time` is written with ten digits.
[[nodiscard]] std::string event_file_name(double time, std::string_view host, int pid, int number);

class EventFile {
 public:
  // Makes a new file in `folder`. `resumed_step` is that of the checkpoint that an attempt
  // continues from. Throws checkpoint::FileSystemError.
  EventFile(const std::filesystem::path& folder, double time,
            std::optional<std::int64_t> resumed_step);

  // In the file when the call returns. Throws checkpoint::FileSystemError; the file is then as it
  // was.
  void write(double time, const Scalar& scalar);

  [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }

 private:
  AppendFile file_;
};

}  // namespace lockstep::runtime::metrics
