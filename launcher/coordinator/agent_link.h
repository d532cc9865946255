// An agent as the coordinator holds it: a process on this host (the agent itself, or what carries
// it to another host), and the channel over its standard input and output.
//
// What a login on another host prints before the agent speaks is not of the protocol: frames begin
// after a nonce on a line of its own. Thread rule: the reactor's thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launcher/process/reactor.h"
#include "launcher/process/spawn.h"
#include "launcher/protocol/frame.h"
#include "launcher/protocol/message.h"

namespace lockstep::launcher {

// How to start an agent.
struct AgentCommand {
  std::string file;
  std::vector<std::string> args;
  std::vector<std::string> environment;
  std::string nonce;  // empty: frames begin at once, and standard error is ours
};

// How a link ended.
struct LinkEnd {
  int code = 0;
  int signal = 0;
  bool reached = false;  // the nonce was seen
  std::string said;      // the last lines on standard error, where that is not ours
  std::string nonsense;  // not empty: it sent what is no message, and why
};

class AgentLink {
 public:
  struct Handlers {
    std::function<void(Message)> message;
    std::function<void(const LinkEnd&)> end;  // once; the link may be destroyed in it
  };

  // Throws SpawnError or std::system_error.
  AgentLink(Reactor& reactor, const AgentCommand& command, Handlers handlers);
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;
  // Closes the channel; kills and reaps the process where it has not ended.
  ~AgentLink();

  void send(const Message& message);
  [[nodiscard]] bool has_unsent() const { return !unsent_.empty(); }
  // Kills the process and calls no handler any more.
  void abandon();

  [[nodiscard]] pid_t pid() const { return process_.pid; }
  // What the login printed before the agent spoke.
  [[nodiscard]] const std::string& noise() const { return noise_; }

 private:
  void write();
  bool read();  // false at the end of the stream
  void read_errors();
  void take(std::string_view bytes);
  void conclude();

  Reactor& reactor_;
  Handlers handlers_;
  Process process_;
  UniqueFd to_agent_, from_agent_, errors_;
  std::string nonce_;
  std::string noise_;
  std::string said_;
  std::string nonsense_;
  FrameParser parser_;
  std::string unsent_;
  bool reached_;
  bool abandoned_ = false;
};

}  // namespace lockstep::launcher
