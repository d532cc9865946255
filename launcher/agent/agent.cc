#include "launcher/agent/agent.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <list>
#include <optional>
#include <utility>

#include "launcher/agent/agent_machine.h"
#include "launcher/agent/host_tuning.h"
#include "launcher/agent/oom.h"
#include "launcher/agent/outbound.h"
#include "launcher/agent/store_host.h"
#include "launcher/agent/worker.h"
#include "launcher/agent/worker_setting.h"
#include "launcher/network/host_addresses.h"
#include "launcher/network/meeting_point.h"
#include "launcher/process/descendants.h"
#include "launcher/process/reactor.h"
#include "launcher/process/signals.h"
#include "launcher/process/system_call.h"
#include "launcher/protocol/frame.h"

namespace lockstep::launcher {
namespace {

Time steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

std::int64_t wall_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string host_name() {
  std::array<char, 256> name{};
  checked(::gethostname(name.data(), name.size() - 1), "gethostname");
  return name.data();
}

class Agent {
 public:
  Agent(const AgentOptions& options, GuardLink guard);
  void run();

 private:
  void perform(const AgentMachine::Actions& actions);
  void listen_for_others(const Survey& survey);
  void try_addresses(const Reach& reach);
  void open_store(const Prepare& prepare);
  void start_workers(const HostJob& job);
  [[nodiscard]] HostJob tuned(HostJob job);
  void watch_stream(Worker& worker, WorkerStream& stream);
  void read_coordinator();
  void lose_coordinator();
  void read_stream(Worker& worker, WorkerStream& stream);
  void take(Worker& worker, const WorkerStream& stream, std::string bytes);
  void end_stream(Worker& worker, WorkerStream& stream);
  void reap(Worker& worker);
  void reap_orphans();
  void write_out();
  void adjust_reading();
  [[nodiscard]] bool finished();

  AgentOptions channel_;
  GuardLink guard_;
  Descendants descendants_;
  Signals signals_{SIGCHLD, SIGPIPE, SIGTERM, SIGINT, SIGHUP};
  Reactor reactor_;
  AgentMachine machine_;
  OomWatch oom_;
  FrameParser parser_;
  Outbound outbound_;
  std::list<Worker> workers_;  // handlers keep references to its members
  std::optional<MeetingPoint> meeting_point_;
  std::optional<ReachTest> reach_test_;
  std::optional<StoreHost> store_;
  std::optional<HostProbe> probe_;
  bool exit_ = false;
  bool lost_ = false;
  bool reading_ = true;
  bool log_failed_ = false;
};

Agent::Agent(const AgentOptions& options, GuardLink guard)
    : channel_(options), guard_(std::move(guard)), machine_(options.silence, steady_now()) {
  set_nonblocking(channel_.from_coordinator);
  set_nonblocking(channel_.to_coordinator);
  reactor_.watch(channel_.from_coordinator, EPOLLIN, [this](std::uint32_t) { read_coordinator(); });
  reactor_.watch(channel_.to_coordinator, 0, [this](std::uint32_t events) {
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
      lose_coordinator();
    } else {
      write_out();
    }
  });
  reactor_.watch(signals_.fd(), EPOLLIN, [this](std::uint32_t) {
    while (const auto number = signals_.next()) {
      // SIGCHLD only wakes the loop. The others are not for an agent to survive: whoever sends
      // them wants this host's part of the job to end.
      if (*number == SIGCHLD || *number == SIGPIPE) continue;
      lose_coordinator();
    }
  });
  reactor_.watch(guard_.guard(), EPOLLIN, [this](std::uint32_t) {
    reactor_.forget(guard_.guard());
    lose_coordinator();
  });
  if (options.tune == AgentOptions::Tune::kYes) probe_.emplace();
  const char* ssh = std::getenv("SSH_CONNECTION");
  outbound_.send(
      Ready{options.version, host_name(), ::getpid(),
            addresses_to_offer(interface_addresses(),
                               ssh != nullptr ? address_of_ssh_connection(ssh) : std::string())});
}

void Agent::run() {
  write_out();
  while (!finished()) {
    const Time deadline = std::min(machine_.deadline().value_or(Time::max()), guard_.next_beat());
    reactor_.wait(std::max(deadline - steady_now(), Time::zero()));
    guard_.beat(steady_now());
    reap_orphans();
    perform(machine_.time_passed(steady_now()));
    adjust_reading();
    write_out();
  }
  guard_.released();
}

void Agent::perform(const AgentMachine::Actions& actions) {
  for (const AgentMachine::Action& action : actions) {
    if (const auto* survey = std::get_if<AgentMachine::ListenForOthers>(&action)) {
      listen_for_others(survey->survey);
    } else if (const auto* addresses = std::get_if<AgentMachine::TryAddresses>(&action)) {
      try_addresses(addresses->reach);
    } else if (const auto* store = std::get_if<AgentMachine::OpenStore>(&action)) {
      open_store(store->prepare);
    } else if (std::holds_alternative<AgentMachine::CloseStore>(action)) {
      store_.reset();
    } else if (const auto* start = std::get_if<AgentMachine::StartWorkers>(&action)) {
      start_workers(tuned(start->job));
    } else if (const auto* groups = std::get_if<AgentMachine::SignalGroups>(&action)) {
      for (const Worker& worker : workers_) {
        if (!worker.ended) ::kill(-worker.process.pid, groups->signal);
      }
    } else if (const auto* sweep = std::get_if<AgentMachine::Sweep>(&action)) {
      perform(machine_.swept(descendants_.signal_all(sweep->signal), steady_now()));
    } else if (const auto* send = std::get_if<AgentMachine::Send>(&action)) {
      outbound_.send(send->message);
    } else if (const auto* credit = std::get_if<AgentMachine::AddCredit>(&action)) {
      outbound_.add_credit(credit->bytes);
    } else if (std::holds_alternative<AgentMachine::DiscardOutput>(action)) {
      outbound_.discard_output();
    } else {
      exit_ = true;
    }
  }
}

void Agent::listen_for_others(const Survey& survey) {
  meeting_point_.emplace(reactor_, survey.token);
  outbound_.send(Surveyed{survey.generation, meeting_point_->port()});
}

void Agent::try_addresses(const Reach& reach) {
  const auto answer = [this,
                       generation = reach.generation](const std::vector<ReachedAddress>& reached) {
    Reached message{generation, {}, {}};
    for (const ReachedAddress& one : reached) {
      message.addresses.push_back(one.address);
      message.interfaces.push_back(one.interface);
    }
    outbound_.send(message);
  };
  reach_test_.emplace(
      reactor_,
      ReachTest::Question{.addresses = reach.addresses, .port = reach.port, .token = reach.token},
      answer);
}

void Agent::open_store(const Prepare& prepare) {
  meeting_point_.reset();
  Prepared answer{prepare.generation, 0, 0, {}};
  try {
    store_.emplace(prepare);
    answer.store_port = store_->store_port();
    answer.master_port = store_->master_port();
  } catch (const std::exception& error) {
    answer.why = error.what();
  }
  outbound_.send(answer);
}

// The advice joins the workers' environment. A host that cannot be read is no reason not to start.
HostJob Agent::tuned(HostJob job) {
  if (!probe_) return job;
  try {
    const Tuning tuning = probe_->tune(job);
    job.environment.insert(job.environment.end(), tuning.environment.begin(),
                           tuning.environment.end());
    outbound_.send(Tuned{tuning.probe.count(),
                         static_cast<std::uint32_t>(tuning.environment.size()),
                         tuning.explanation});
  } catch (const std::exception& error) {
    outbound_.send(Note{fmt::format("NCCL is left to itself: {}", error.what())});
  }
  return job;
}

void Agent::start_workers(const HostJob& job) {
  reach_test_.reset();
  workers_.clear();  // of the attempt before: all have ended, and their output is sent
  const SecretFile secret(job.secret);
  std::vector<WorkerSetting> settings;
  try {
    settings = worker_settings(job, guard_.job_id(), probe_ ? &*probe_ : nullptr);
  } catch (const std::exception& error) {
    settings.assign(job.local_world, {.job_id = guard_.job_id()});
    outbound_.send(Note{fmt::format("workers are not bound to CPUs: {}", error.what())});
  }
  for (std::uint32_t local_rank = 0; local_rank < job.local_world; ++local_rank) {
    try {
      Worker& worker =
          workers_.emplace_back(start_worker(job, local_rank, secret, settings[local_rank]));
      reactor_.watch(worker.process.pidfd.get(), EPOLLIN,
                     [this, &worker](std::uint32_t) { reap(worker); });
      for (WorkerStream& stream : worker.streams) watch_stream(worker, stream);
      perform(machine_.worker_started(worker.rank, worker.process.pid));
    } catch (const std::exception& error) {
      perform(machine_.worker_not_started(job.first_rank + local_rank, error.what()));
    }
  }
}

void Agent::watch_stream(Worker& worker, WorkerStream& stream) {
  reactor_.watch(stream.fd.get(), EPOLLIN,
                 [this, &worker, &stream](std::uint32_t) { read_stream(worker, stream); });
}

void Agent::read_coordinator() {
  std::array<char, std::size_t{64} << 10> buffer;
  const ssize_t count = ::read(channel_.from_coordinator, buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  bool lost = count <= 0;
  if (!lost) {
    try {
      parser_.add({buffer.data(), static_cast<std::size_t>(count)});
      while (const auto body = parser_.next()) {
        perform(machine_.received(decode(*body), wall_now_ns(), steady_now()));
      }
    } catch (const ProtocolError&) {
      lost = true;  // a coordinator that cannot be understood cannot be obeyed
    }
  }
  if (lost) lose_coordinator();
}

void Agent::lose_coordinator() {
  lost_ = true;
  reactor_.forget(channel_.from_coordinator);
  reactor_.forget(channel_.to_coordinator);
  perform(machine_.coordinator_lost(steady_now()));
}

void Agent::read_stream(Worker& worker, WorkerStream& stream) {
  std::array<char, std::size_t{64} << 10> buffer;
  const ssize_t count = ::read(stream.fd.get(), buffer.data(), buffer.size());
  if (count > 0) {
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    take(worker, stream,
         stream.output == LeadOutput::kAtOnce ? std::string(bytes) : stream.lines.add(bytes));
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR) || machine_.gone()) {
    // Once the job is gone, whoever still holds the other end is not of the job.
    end_stream(worker, stream);
  }
}

void Agent::end_stream(Worker& worker, WorkerStream& stream) {
  take(worker, stream, stream.lines.finish());
  reactor_.forget(stream.fd.get());
  stream.fd.reset();
}

void Agent::take(Worker& worker, const WorkerStream& stream, std::string bytes) {
  std::string_view rest = bytes;
  while (!rest.empty() && worker.log.valid()) {
    const ssize_t count = ::write(worker.log.get(), rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      worker.log.reset();
      if (!std::exchange(log_failed_, true)) {
        outbound_.send(Note{fmt::format("the log of rank {} is kept no longer: {}", worker.rank,
                                        std::strerror(errno))});
      }
    }
  }
  outbound_.add_output({worker.rank, stream.stream, std::move(bytes)});
}

void Agent::reap(Worker& worker) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(worker.process.pid), &info, WEXITED | WNOHANG) != 0 ||
      info.si_pid == 0) {
    return;
  }
  worker.ended = true;
  reactor_.forget(worker.process.pidfd.get());
  worker.process.pidfd.reset();
  Ending ending;
  if (info.si_code == CLD_EXITED) {
    ending.code = info.si_status;
  } else {
    ending.signal = info.si_status;
    if (ending.signal == SIGKILL && !machine_.has_killed()) {
      ending.killer = oom_.explain(worker.process.pid);
    }
  }
  perform(machine_.worker_ended(worker.rank, ending, wall_now_ns(), steady_now()));
}

void Agent::reap_orphans() {
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    const auto is_it = [&info](const Worker& w) {
      return !w.ended && w.process.pid == info.si_pid;
    };
    // A worker's turn comes by its own descriptor, in the order of deaths.
    if (std::ranges::any_of(workers_, is_it)) return;
    ::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
  }
}

void Agent::write_out() {
  while (!lost_) {
    const std::string_view bytes = outbound_.next();
    if (bytes.empty()) break;
    const ssize_t count = ::write(channel_.to_coordinator, bytes.data(), bytes.size());
    if (count > 0) {
      outbound_.wrote(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      reactor_.change(channel_.to_coordinator, EPOLLOUT);
      return;
    } else if (errno != EINTR) {
      lose_coordinator();
    }
  }
  if (!lost_) reactor_.change(channel_.to_coordinator, 0);
}

// Stops and resumes reading from the workers as output piles up and flows off; a worker whose pipe
// is full then waits in write(). Streams are forgotten, not masked: epoll reports a
// hang-up even of a descriptor with no events asked for.
void Agent::adjust_reading() {
  const bool read = !outbound_.backed_up();
  bool open = false;
  for (Worker& worker : workers_) {
    for (WorkerStream& stream : worker.streams) {
      if (stream.fd.valid() && machine_.gone() && read) read_stream(worker, stream);
      if (!stream.fd.valid()) continue;
      open = true;
      if (read == reading_) continue;
      if (read) {
        watch_stream(worker, stream);
      } else {
        reactor_.forget(stream.fd.get());
      }
    }
  }
  reading_ = read;
  if (machine_.gone() && !open && !outbound_.has_output()) perform(machine_.output_drained());
}

bool Agent::finished() {
  return exit_ && (lost_ || outbound_.next().empty());
}

}  // namespace

void run_agent(const AgentOptions& options, GuardLink guard) {
  become_subreaper();
  Agent(options, std::move(guard)).run();
}

}  // namespace lockstep::launcher
