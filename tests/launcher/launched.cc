#include "tests/launcher/launched.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

#include "launcher/process/system_call.h"

namespace lockstep::launcher {
namespace {

UniqueFd create(const std::filesystem::path& path) {
  return UniqueFd(
      checked(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), "open"));
}

bool is_zombie(pid_t pid) {
  const std::string stat = contents("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t bracket = stat.rfind(')');
  return bracket == std::string::npos || bracket + 2 >= stat.size() || stat[bracket + 2] == 'Z';
}

}  // namespace

std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string lockstep_program() {
  return LOCKSTEP_BINARY_DIR "/bin/lockstep";
}

std::string python() {
  return LOCKSTEP_PYTHON;
}

std::vector<std::string> worker(const std::string& mode) {
  return {"--", python(), LOCKSTEP_SOURCE_DIR "/tests/launcher/worker.py", mode};
}

std::vector<std::string> launch(const std::vector<std::string>& flags,
                                const std::vector<std::string>& what,
                                const std::vector<std::string>& more) {
  std::vector<std::string> args{"launch"};
  for (const auto* part : {&flags, &what, &more})
    args.insert(args.end(), part->begin(), part->end());
  return args;
}

Launched::Launched(const Setup& setup) : mark_("LOCKSTEP_TEST_MARK=" + folder_.path().string()) {
  ProcessPlan plan;
  plan.args = setup.through;
  plan.args.push_back(setup.program);
  plan.args.insert(plan.args.end(), setup.args.begin(), setup.args.end());
  plan.file = plan.args.front();
  for (char** entry = environ; *entry != nullptr; ++entry) plan.environment.emplace_back(*entry);
  plan.environment.insert(plan.environment.end(), setup.environment.begin(),
                          setup.environment.end());
  plan.environment.push_back(mark_);
  plan.directory = folder_.path();
  const UniqueFd out = create(folder_.path() / "stdout"), err = create(folder_.path() / "stderr");
  plan.out = setup.output.value_or(out.get());
  plan.err = err.get();
  process_ = spawn(plan);
}

Launched::~Launched() {
  for (const pid_t pid : processes()) ::kill(pid, SIGKILL);
  (void)wait();
}

int Launched::wait(std::chrono::milliseconds limit) {
  if (code_) return *code_;
  pollfd ended{process_.pidfd.get(), POLLIN, 0};
  if (::poll(&ended, 1, static_cast<int>(limit.count())) <= 0) return -1;
  int status = 0;
  rusage usage{};
  ::wait4(process_.pid, &status, 0, &usage);
  peak_kib_ = usage.ru_maxrss;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return *code_;
}

void Launched::signal(int number) const {
  ::kill(process_.pid, number);
}

std::filesystem::path Launched::run(const std::string& program) const {
  return folder_.path() / "runs" / std::filesystem::path(program).filename() / "latest";
}

std::vector<pid_t> Launched::processes() const {
  std::vector<pid_t> found;
  for (const auto& item : std::filesystem::directory_iterator("/proc")) {
    const std::string name = item.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr !=
            name.data() + name.size() ||
        pid == 0) {
      continue;
    }
    const std::string environment = contents(item.path() / "environ");
    const std::string entry = mark_ + std::string(1, '\0');
    if (environment.find(entry) != std::string::npos && !is_zombie(pid)) found.push_back(pid);
  }
  return found;
}

pid_t Launched::process_named(const std::string& name) const {
  for (const pid_t pid : processes()) {
    const std::string command = contents("/proc/" + std::to_string(pid) + "/cmdline");
    if (command.starts_with(name + std::string(1, '\0'))) return pid;
  }
  return 0;
}

}  // namespace lockstep::launcher
