// The probe on the machine that runs the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "topology/probe/probe.h"

namespace lockstep::topology {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;

constexpr int kCannot = 77;  // what a child could not set up

// The exit status of `work` in a process of its own.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::vector<std::string> names(const Machine& machine) {
  std::vector<std::string> all;
  for (const Nic& nic : machine.nics) all.push_back(nic.name);
  for (const Interface& interface : machine.interfaces) all.push_back(interface.name);
  for (const NumaNode& node : machine.numa) all.push_back(node.cpus.to_list());
  return all;
}

TEST(Live, ProcessorsAreThoseOfTheKernel) {
  const Machine machine = probe();
  EXPECT_EQ(machine.cpu.threads, sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_GE(machine.cpu.sockets.value_or(0), 1);
  EXPECT_GE(machine.cpu.cores.value_or(0), *machine.cpu.sockets);
  EXPECT_FALSE(machine.cpu.architecture.empty());
  EXPECT_EQ(machine.sources, std::vector<std::string>{"live"});
}

TEST(Live, NodesHoldEveryCpuOnce) {
  const Machine machine = probe();
  int cpus = 0;
  for (const NumaNode& node : machine.numa) cpus += node.cpus.count();
  EXPECT_EQ(cpus, sysconf(_SC_NPROCESSORS_ONLN));
}

TEST(Live, LoopbackHasItsAddress) {
  const Machine machine = probe();
  const auto loopback = std::ranges::find(machine.interfaces, "lo", &Interface::name);
  ASSERT_NE(loopback, machine.interfaces.end());
  EXPECT_EQ(loopback->kind, InterfaceKind::loopback);
  EXPECT_THAT(loopback->addresses, Contains("127.0.0.1/8"));
}

TEST(Live, WhetherThereIsAGpuIsSaidInPlainWords) {
  const Machine machine = probe();
  const auto no_gpu = std::ranges::find(machine.findings, "no-gpu", &Finding::code);
  EXPECT_EQ(machine.gpus.empty(), no_gpu != machine.findings.end());
}

TEST(Live, AnOrdinaryUserSeesTheSame) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can become another user";
  const Machine as_root = probe();
  const int status = in_child([&as_root] {
    if (setgid(65534) != 0 || setuid(65534) != 0) return kCannot;
    const Machine machine = probe();
    return names(machine) == names(as_root) && machine.cpu.cores == as_root.cpu.cores &&
                   machine.gpus.size() == as_root.gpus.size()
               ? 0
               : 1;
  });
  if (status == kCannot) GTEST_SKIP() << "SKIPPED: no right to change the user";
  EXPECT_EQ(status, 0);
}

TEST(Live, WithAnEmptySysTheProcessorsAreStillRight) {
  const Machine outside = probe();
  const int status = in_child([&outside] {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kCannot;
    mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (mount("none", "/sys", "tmpfs", 0, nullptr) != 0) return kCannot;
    const Machine machine = probe();
    const bool told = std::ranges::any_of(machine.findings, [](const Finding& finding) {
      return finding.code == "no-gpu" &&
             finding.message.find("cannot be told") != std::string::npos;
    });
    if (machine.cpu.threads != outside.cpu.threads) return 1;
    if (machine.cpu.sockets != outside.cpu.sockets) return 2;
    if (machine.numa.size() != 1) return 3;
    if (machine.interfaces.empty()) return 4;
    return told ? 0 : 5;
  });
  if (status == kCannot) GTEST_SKIP() << "SKIPPED: no right to mount in a namespace";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace lockstep::topology
