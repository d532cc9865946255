#include "tests/launcher/local_sshd.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "launcher/process/system_call.h"
#include "tests/launcher/launched.h"

namespace lockstep::launcher {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::uint16_t free_port() {
  const UniqueFd socket(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  checked(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), "bind");
  checked(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
  return ntohs(address.sin_port);
}

bool listens(std::uint16_t port) {
  const UniqueFd socket(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  sockaddr_in address = loopback(port);
  return ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

Process start(const std::vector<std::string>& args) {
  ProcessPlan plan;
  plan.file = args.front();
  plan.args = args;
  for (char** entry = environ; *entry != nullptr; ++entry) plan.environment.emplace_back(*entry);
  const UniqueFd nothing(checked(::open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null"));
  plan.in = plan.out = plan.err = nothing.get();
  return spawn(plan);
}

void make_key(const std::filesystem::path& file) {
  const Process process =
      start({"/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file});
  int status = 0;
  checked(::waitpid(process.pid, &status, 0), "waitpid");
  if (status != 0) throw std::runtime_error("ssh-keygen failed");
}

}  // namespace

LocalSshd::LocalSshd(const std::vector<std::string>& hosts) {
  const std::filesystem::path& folder = folder_.path();
  make_key(folder / "host");
  make_key(folder / "user");
  std::filesystem::copy_file(folder / "user.pub", folder / "authorized");
  const std::uint16_t port = free_port();
  std::ofstream(folder / "sshd_config") << fmt::format(
      "ListenAddress 127.0.0.1\nPort {}\nHostKey {}/host\nAuthorizedKeysFile "
      "{}/authorized\nStrictModes no\n"
      "UsePAM no\nPidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication "
      "no\nPermitRootLogin yes\n",
      port, folder.string(), folder.string());
  std::ofstream(folder / "config") << fmt::format(
      "Host {}\n  HostName 127.0.0.1\n  Port {}\nHost *\n  IdentityFile {}/user\n  IdentitiesOnly "
      "yes\n"
      "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n",
      fmt::join(hosts, " "), port, folder.string());
  // Debian's sshd wants its folder of privilege separation; only root may make it, and only root's
  // sshd needs it.
  if (::geteuid() == 0) ::mkdir("/run/sshd", 0755);
  process_ = start({kProgram, "-D", "-f", folder / "sshd_config", "-E", folder / "log"});
  if (!eventually([port] { return listens(port); })) {
    throw std::runtime_error("sshd does not listen: " + contents(folder / "log"));
  }
}

LocalSshd::~LocalSshd() {
  ::kill(process_.pid, SIGTERM);
  ::waitpid(process_.pid, nullptr, 0);
}

std::string LocalSshd::client() const {
  return fmt::format("ssh -F {}/config", folder_.path().string());
}

}  // namespace lockstep::launcher
