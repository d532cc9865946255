#include "launcher/remote/everywhere.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "launcher/process/reactor.h"
#include "launcher/process/spawn.h"
#include "launcher/process/system_call.h"
#include "launcher/program_search.h"
#include "launcher/remote/ssh_failure.h"

namespace lockstep::launcher {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostErrorText = 4096;

struct Session {
  std::size_t host = 0;
  Process process;
  UniqueFd out, err;
  std::string output, error_text;
  bool too_much = false;
  Clock::time_point deadline;
};

class Everywhere {
 public:
  Everywhere(const std::vector<std::string>& hosts, const RemoteProgram& program,
             const RemoteOptions& options)
      : hosts_(hosts),
        program_(program),
        options_(options),
        nonce_(make_nonce()),
        results_(hosts.size()) {
    for (std::size_t i = 0; i < hosts.size(); ++i) results_[i].host = hosts[i];
    for (char** entry = environ; *entry != nullptr; ++entry) environment_.emplace_back(*entry);
  }

  std::vector<RemoteResult> run() {
    std::size_t next = 0;
    while (next < hosts_.size() || !sessions_.empty()) {
      while (next < hosts_.size() && sessions_.size() < options_.at_once) start(next++);
      const auto first =
          std::ranges::min_element(sessions_, {}, [](const auto& s) { return s->deadline; });
      reactor_.wait(
          std::max<Clock::duration>((*first)->deadline - Clock::now(), Clock::duration::zero()));
      const auto now = Clock::now();
      for (std::size_t i = sessions_.size(); i-- > 0;) {
        if (sessions_[i]->deadline <= now) expire(*sessions_[i]);
      }
    }
    return std::move(results_);
  }

 private:
  void start(std::size_t host) {
    std::vector<std::string> args =
        ssh_command(options_.client, hosts_[host], program_, nonce_,
                    std::max(options_.deadline, std::chrono::seconds(1)));
    const char* path = std::getenv("PATH");
    auto session = std::make_unique<Session>();
    session->host = host;
    session->deadline = Clock::now() + options_.deadline;
    Pipe out = make_pipe(), err = make_pipe();
    const UniqueFd nothing(checked(::open("/dev/null", O_RDONLY | O_CLOEXEC), "open /dev/null"));
    ProcessPlan plan;
    plan.file = find_program(args.front(), path != nullptr ? path : "/bin:/usr/bin");
    plan.args = std::move(args);
    plan.environment = environment_;
    plan.in = nothing.get();
    plan.out = out.write.get();
    plan.err = err.write.get();
    session->process = spawn(plan);
    session->out = std::move(out.read);
    session->err = std::move(err.read);
    Session& s = *session;
    sessions_.push_back(std::move(session));
    set_nonblocking(s.out.get());
    set_nonblocking(s.err.get());
    reactor_.watch(s.out.get(), EPOLLIN,
                   [this, &s](std::uint32_t) { take(s, s.out.get(), s.output); });
    reactor_.watch(s.err.get(), EPOLLIN,
                   [this, &s](std::uint32_t) { take(s, s.err.get(), s.error_text); });
    reactor_.watch(s.process.pidfd.get(), EPOLLIN, [this, &s](std::uint32_t) { conclude(s); });
  }

  // Reads what is there. Standard error is kept from its end, output from its beginning.
  void take(Session& s, int fd, std::string& text) {
    char buffer[65536];
    while (true) {
      const ssize_t n = ::read(fd, buffer, sizeof buffer);
      if (n == 0 && reactor_.watches(fd)) reactor_.forget(fd);
      if (n <= 0) return;
      text.append(buffer, static_cast<std::size_t>(n));
      if (&text == &s.error_text && text.size() > kMostErrorText)
        text.erase(0, text.size() - kMostErrorText);
      if (&text == &s.output && text.size() > kMostOutput) {
        s.too_much = true;
        text.clear();
      }
    }
  }

  void conclude(Session& s) {
    take(s, s.out.get(), s.output);
    take(s, s.err.get(), s.error_text);
    int status = 0;
    checked(::waitpid(s.process.pid, &status, 0), "waitpid");
    RemoteResult& result = results_[s.host];
    const std::string mark = nonce_ + "\n";
    const std::size_t begin = s.output.find(mark);
    if (s.too_much) {
      result.failure = fmt::format("printed more than {} MiB", kMostOutput >> 20);
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && begin != std::string::npos) {
      result.output = s.output.substr(begin + mark.size());
    } else {
      result.failure = reason(s, status, begin != std::string::npos);
    }
    remove(s);
  }

  std::string reason(const Session& s, int status, bool reached) const {
    const SshEnd end{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                     .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                     .reached = reached,
                     .said = s.error_text};
    return ssh_failure(end, options_.client, program_.name).why;
  }

  void expire(Session& s) {
    ::kill(-s.process.pid, SIGKILL);
    int status = 0;
    checked(::waitpid(s.process.pid, &status, 0), "waitpid");
    const bool reached = s.output.find(nonce_) != std::string::npos;
    results_[s.host].failure =
        fmt::format("{} within {} s", reached ? "did not answer" : "could not be reached",
                    options_.deadline.count());
    remove(s);
  }

  void remove(Session& s) {
    for (const int fd : {s.out.get(), s.err.get(), s.process.pidfd.get()}) {
      if (reactor_.watches(fd)) reactor_.forget(fd);
    }
    std::erase_if(sessions_, [&s](const auto& other) { return other.get() == &s; });
  }

  const std::vector<std::string>& hosts_;
  const RemoteProgram& program_;
  const RemoteOptions& options_;
  std::string nonce_;
  std::vector<std::string> environment_;
  std::vector<RemoteResult> results_;
  Reactor reactor_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

}  // namespace

std::vector<RemoteResult> run_everywhere(const std::vector<std::string>& hosts,
                                         const RemoteProgram& program,
                                         const RemoteOptions& options) {
  return Everywhere(hosts, program, options).run();
}

}  // namespace lockstep::launcher
