// What the coordinator and an agent say to each other.
//
//   agent                                   coordinator
//   Ready                           ->
//                                   <-      Survey, to the host of rank 0: where do you listen?
//   Surveyed                        ->
//                                   <-      Reach, to the others: which of its addresses do you
//                                   reach?
//   Reached                         ->
//                                   <-      Prepare, to the host of rank 0: open the store
//   Prepared                        ->
//                                   <-      Start
//   Tuned, if it is asked to        ->
//   Started | NotStarted, Ended     ->      one of each a worker
//                                   <-      Notice, Stop, Kill
//   Gone, Drained                   ->      after which a new generation may begin
//                                   <-      Dismiss
//
// What belongs to an attempt carries its generation. Where nothing else is said, Ping and Pong show
// that the other side is there. Output travels within a window that the coordinator opens again
// with Credit as it gets rid of what it was sent, so that a slow reader slows the workers down and
// nothing piles up, while all other messages pass.
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

// Whose program the workers run. Where `lockstep` is not at its path on a host, the one beside that
// host's agent is meant.
enum class Program : std::uint8_t { kUsers = 0, kLockstep = 1 };

// Which CPUs a worker runs on: any; its share; those of a NUMA node; those near its GPU.
enum class Bind : std::uint8_t { kNone = 0, kCore = 1, kNuma = 2, kGpu = 3 };

// Everything that an agent needs to start its host's workers.
struct HostJob {
  std::string file;  // the program: a path, or a name to be looked up in `environment`'s PATH
  Program program = Program::kUsers;
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
  Bind bind = Bind::kNone;
};

// An address of a host, and the interface that has it.
struct HostAddress {
  std::string address;    // numeric
  std::string interface;  // "eth0"
};

// From the agent.
struct Ready {
  std::string version;
  std::string host;
  std::int64_t pid = 0;
  std::vector<HostAddress> addresses;  // those that other hosts may reach, the likeliest first
};
struct Surveyed {
  std::uint32_t generation = 0;
  std::uint16_t port = 0;  // where Reach may try; it says the token to whoever connects
};
struct Reached {
  std::uint32_t generation = 0;
  std::vector<std::string> addresses;   // of those asked for, those that answered rightly
  std::vector<std::string> interfaces;  // of this host, by which each was reached
};
struct Prepared {
  std::uint32_t generation = 0;
  std::uint16_t store_port = 0;
  std::uint16_t master_port = 0;  // held for rank 0
  std::string why;                // not empty: it could not be done
};
struct Tuned {  // NCCL was told what this host needs
  std::int64_t probe_ms = 0;
  std::uint32_t settings = 0;
  std::string explanation;  // for people
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
struct Gone {  // no process of the attempt is left on this host
  std::uint32_t generation = 0;
};
struct Drained {  // and all of its output was sent
  std::uint32_t generation = 0;
};
struct Pong {
  std::uint64_t number = 0;  // of the Ping
  std::int64_t time_ns = 0;  // since the Unix epoch, by the agent's clock
};
struct Progress {  // the job has got further: something that a restart need not repeat
  std::uint32_t generation = 0;
  std::uint64_t step = 0;
};

// From the coordinator.
struct Survey {
  std::uint32_t generation = 0;
  std::string token;
};
struct Reach {
  std::uint32_t generation = 0;
  std::vector<std::string> addresses;
  std::uint16_t port = 0;
  std::string token;
};
struct Prepare {
  std::uint32_t generation = 0;
  std::uint32_t world = 1;
  std::string address;  // where the store is to listen
  std::string secret;
};
struct Start {
  HostJob job;
};
struct Credit {
  std::int64_t bytes = 0;
};
struct Stop {
  std::uint32_t generation = 0;
  std::int64_t grace_ms = 0;  // between SIGTERM and SIGKILL
};
struct Kill {};
struct Ping {
  std::uint64_t number = 0;
};
struct Notice {
  std::int32_t signal = 0;  // passed on to every worker
};
struct Pause {};  // the coordinator will be silent until Resume: its user stopped it
struct Resume {};
struct Dismiss {};  // the agent's work is over

// The order is the kind's number on the wire.
using Message = std::variant<Ready, Surveyed, Reached, Prepared, Tuned, Started, NotStarted, Output,
                             Ended, Note, Gone, Drained, Pong, Progress, Survey, Reach, Prepare,
                             Start, Credit, Stop, Kill, Ping, Notice, Pause, Resume, Dismiss>;

// A frame's body, and back. decode() throws ProtocolError at anything that encode() does not write.
[[nodiscard]] std::string encode(const Message& message);
[[nodiscard]] Message decode(std::string_view body);

}  // namespace lockstep::launcher
