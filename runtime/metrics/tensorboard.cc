#include "runtime/metrics/tensorboard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <span>

#include "runtime/checkpoint/crc32c.h"
#include "runtime/checkpoint/file_system.h"

namespace lockstep::runtime::metrics {
namespace {

using checkpoint::crc32c;
using checkpoint::masked_crc32c;

// Field numbers of event.proto and summary.proto.
enum EventField : unsigned {
  kWallTime = 1,
  kStep = 2,
  kFileVersion = 3,
  kSummary = 5,
  kSessionLog = 7
};
constexpr unsigned kSummaryValue = 1;
constexpr unsigned kValueTag = 1;
constexpr unsigned kValueSimple = 2;
constexpr unsigned kSessionStatus = 1;
constexpr std::uint64_t kSessionStart = 1;

// Wire types of protocol buffers.
enum class Wire : unsigned { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// A protocol buffers message under construction; fields are written in the order of the calls.
class Message {
 public:
  Message& varint(unsigned field, std::uint64_t value) {
    key(field, Wire::varint);
    put_varint(value);
    return *this;
  }
  Message& number(unsigned field, double value) {
    key(field, Wire::fixed64);
    put_fixed(std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  Message& number(unsigned field, float value) {
    key(field, Wire::fixed32);
    put_fixed(std::bit_cast<std::uint32_t>(value));
    return *this;
  }
  Message& bytes(unsigned field, std::string_view value) {
    key(field, Wire::bytes);
    put_varint(value.size());
    text_ += value;
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void key(unsigned field, Wire wire) { put_varint(field << 3 | static_cast<unsigned>(wire)); }

  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>((value & 0x7f) | 0x80);
    text_ += static_cast<char>(value);
  }

  template <typename Word>
  void put_fixed(Word value) {
    for (std::size_t at = 0; at < sizeof(Word); ++at) {
      text_ += static_cast<char>((value >> (8 * at)) & 0xff);
    }
  }

  std::string text_;
};

template <typename Word>
void put_word(std::vector<std::byte>& out, Word value) {
  for (std::size_t at = 0; at < sizeof(Word); ++at) {
    out.push_back(static_cast<std::byte>((value >> (8 * at)) & 0xff));
  }
}

std::vector<std::byte> framed(const Message& message) {
  const auto payload = std::as_bytes(std::span(message.text()));
  std::vector<std::byte> record;
  put_word(record, static_cast<std::uint64_t>(payload.size()));
  put_word(record, masked_crc32c(crc32c(record)));
  record.insert(record.end(), payload.begin(), payload.end());
  put_word(record, masked_crc32c(crc32c(payload)));
  return record;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

// The first name that is free: two attempts may begin within one second.
std::filesystem::path free_path(const std::filesystem::path& folder, double time) {
  const std::string host = host_name();
  for (int number = 0;; ++number) {
    auto path = folder / event_file_name(time, host, ::getpid(), number);
    if (!std::filesystem::exists(path)) return path;
  }
}

}  // namespace

std::vector<std::byte> event_file_header(double time) {
  return framed(Message().number(kWallTime, time).bytes(kFileVersion, "brain.Event:2"));
}

std::vector<std::byte> event_session_start(double time, std::int64_t first_step) {
  return framed(Message()
                    .number(kWallTime, time)
                    .varint(kStep, static_cast<std::uint64_t>(first_step))
                    .bytes(kSessionLog, Message().varint(kSessionStatus, kSessionStart).text()));
}

std::vector<std::byte> event_scalar(double time, const Scalar& scalar) {
  const Message value = Message().bytes(kValueTag, scalar.tag).number(kValueSimple, scalar.value);
  return framed(Message()
                    .number(kWallTime, time)
                    .varint(kStep, static_cast<std::uint64_t>(scalar.step))
                    .bytes(kSummary, Message().bytes(kSummaryValue, value.text()).text()));
}

std::string event_file_name(double time, std::string_view host, int pid, int number) {
  return fmt::format("events.out.tfevents.{:010d}.{}.{}.{}",
                     static_cast<std::int64_t>(std::floor(time)), host, pid, number);
}

EventFile::EventFile(const std::filesystem::path& folder, double time,
                     std::optional<std::int64_t> resumed_step)
    : file_(free_path(folder, time)) {
  file_.append(event_file_header(time));
  if (resumed_step) file_.append(event_session_start(time, *resumed_step + 1));
}

void EventFile::write(double time, const Scalar& scalar) {
  file_.append(event_scalar(time, scalar));
}

}  // namespace lockstep::runtime::metrics
