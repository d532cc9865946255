// What the coordinator and an agent say to each other.
//
// The agent speaks first (Ready). The coordinator answers with Start. Output travels within a
// window that the coordinator opens again with Credit as it gets rid of what it was sent, so
// that a slow reader slows the workers down and nothing piles up, while all other messages pass.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lockstep::launcher {

// Bytes of output that an agent may have sent beyond what it was given credit for.
inline constexpr std::int64_t kOutputWindow = std::int64_t{1} << 20;

enum class Stream : std::uint8_t { kOut = 1, kErr = 2 };

// How the standard output of rank 0 travels: in whole lines, or at once, as it is written (so
// that a progress line that redraws itself with carriage returns works).
enum class LeadOutput : std::uint8_t { kLines = 0, kAtOnce = 1 };

// Everything that an agent needs to start its host's workers.
struct HostJob {
  std::string file;                      // the program, as a path
  std::vector<std::string> args;         // args[0] is what the user typed
  std::vector<std::string> environment;  // the launcher's own, NAME=value, byte for byte
  std::string directory;
  std::uint32_t world = 1;
  std::uint32_t first_rank = 0;  // ranks are contiguous within a host
  std::uint32_t local_world = 1;
  std::uint32_t host_rank = 0;
  std::uint32_t hosts = 1;
  std::uint32_t generation = 0;
  std::uint32_t max_restarts = 0;
  std::string master_address;
  std::uint16_t master_port = 0;
  std::string interface;  // what GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME default to
  std::string run_id;
  std::string run_folder;     // absolute
  std::string store_address;  // host:port
  std::string secret;         // the job's; travels only here, and to workers by descriptor
  LeadOutput lead_output = LeadOutput::kLines;
};

// From the agent.
struct Ready {
  std::string version;
  std::string host;
  std::int64_t pid = 0;
  std::uint16_t port = 0;  // held by the agent, for MASTER_PORT
};
struct Started {
  std::uint32_t rank = 0;
  std::int64_t pid = 0;
};
struct NotStarted {
  std::uint32_t rank = 0;
  std::string why;
};
struct Output {
  std::uint32_t rank = 0;
  Stream stream = Stream::kOut;
  std::string bytes;  // whole lines, except as LeadOutput says
};
// Who sent a SIGKILL that was not ours.
enum class Cause : std::uint8_t { kNone = 0, kOutOfMemory = 1, kUnknownSender = 2 };
struct Killer {
  Cause cause = Cause::kNone;
  std::string evidence = {};  // what the kernel said, in words
};
struct Ended {
  std::uint32_t rank = 0;
  std::int64_t time_ns = 0;  // since the Unix epoch, by the agent's clock
  std::int32_t code = 0;     // where it exited
  std::int32_t signal = 0;   // where a signal ended it, else 0
  Killer killer = {};
};
struct Note {
  std::string text;  // something the user should know that ends nothing
};
struct Gone {};     // no process of the job is left on this host
struct Drained {};  // and all of its output was sent: the agent's last message

// From the coordinator.
struct Start {
  HostJob job;
};
struct Credit {
  std::int64_t bytes = 0;
};
struct Stop {
  std::int64_t grace_ms = 0;  // between SIGTERM and SIGKILL
};
struct Kill {};

using Message = std::variant<Ready, Started, NotStarted, Output, Ended, Note, Gone, Drained, Start,
                             Credit, Stop, Kill>;

// A frame's body, and back. decode() throws ProtocolError at anything that encode() does not write.
[[nodiscard]] std::string encode(const Message& message);
[[nodiscard]] Message decode(std::string_view body);

}  // namespace lockstep::launcher
