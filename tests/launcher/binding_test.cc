// Which CPUs each worker of a host runs on.
#include "launcher/agent/binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lockstep::launcher {
namespace {

using testing::ElementsAre;

topology::CpuSet cpus(std::string_view list) {
  return *topology::CpuSet::from_list(list);
}

// Two sockets of four CPUs; the GPUs hang off the second, then the first.
topology::Machine two_sockets() {
  topology::Machine machine;
  machine.numa = {{.id = 0, .cpus = cpus("0-3")}, {.id = 1, .cpus = cpus("4-7")}};
  machine.gpus.resize(3);
  machine.gpus[0].numa = 1;
  machine.gpus[0].uuid = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6";
  machine.gpus[1].numa = 0;
  machine.gpus[1].uuid = "GPU-1f3a0000-d72c-4106-c12f-20bd9faed9f6";
  return machine;
}

std::vector<std::string> bound(const BindingRequest& request) {
  std::vector<std::string> lists;
  for (const topology::CpuSet& set : bindings(request, two_sockets())) {
    lists.push_back(set.to_list());
  }
  return lists;
}

TEST(Binding, CoresAreSharedEvenlyInTheirOrder) {
  EXPECT_THAT(bound({.bind = Bind::kCore, .workers = 3, .allowed = cpus("0-7"), .gpus = {}}),
              ElementsAre("0-1", "2-4", "5-7"));
}

TEST(Binding, MoreWorkersThanCoresAreLeftAlone) {
  EXPECT_THAT(bound({.bind = Bind::kCore, .workers = 3, .allowed = cpus("1,5"), .gpus = {}}),
              ElementsAre("", "", ""));
}

TEST(Binding, NodesGoRoundInBlocksAndOnlyWithCpusThatAreAllowed) {
  EXPECT_THAT(bound({.bind = Bind::kNuma, .workers = 4, .allowed = cpus("2-7"), .gpus = {}}),
              ElementsAre("2-3", "2-3", "4-7", "4-7"));
  EXPECT_THAT(bound({.bind = Bind::kNuma, .workers = 2, .allowed = cpus("0-1"), .gpus = {}}),
              ElementsAre("0-1", "0-1"));
}

TEST(Binding, AWorkerIsNearItsGpuAndLeftAloneWhereThatIsNotKnown) {
  EXPECT_THAT(bound({.bind = Bind::kGpu,
                     .workers = 4,
                     .allowed = cpus("0-7"),
                     .gpus = {0, 1, 2, std::nullopt}}),
              ElementsAre("4-7", "0-3", "", ""));
}

TEST(Binding, NoneIsNone) {
  EXPECT_THAT(bound({.bind = Bind::kNone, .workers = 2, .allowed = cpus("0-7"), .gpus = {}}),
              ElementsAre("", ""));
}

TEST(Binding, VisibleDevicesAreWordsNotNumbers) {
  const topology::Machine machine = two_sockets();
  EXPECT_THAT(gpus_of_workers(std::nullopt, machine, 4), ElementsAre(0, 1, 2, std::nullopt));
  EXPECT_THAT(gpus_of_workers("1,0", machine, 3), ElementsAre(1, 0, std::nullopt));
  EXPECT_THAT(gpus_of_workers("GPU-1f3a,MIG-GPU-8932f937/1/2,9", machine, 3),
              ElementsAre(1, std::nullopt, std::nullopt));
  EXPECT_THAT(gpus_of_workers("", machine, 1), ElementsAre(std::nullopt));
}

TEST(Binding, WhatThisProcessMayUseIsNotEmpty) {
  EXPECT_FALSE(allowed_cpu_set().empty());
}

}  // namespace
}  // namespace lockstep::launcher
