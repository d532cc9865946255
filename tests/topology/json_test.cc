// Hosts as JSON: the contract's keys, everything back as it was, damage refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/topology/fabric_text.h"
#include "tests/topology/machines.h"
#include "topology/json.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Cluster cluster_of(std::vector<Machine> hosts) {
  return {.hosts = std::move(hosts), .fabric = std::nullopt, .findings = {}};
}

Cluster there_and_back(const Cluster& cluster) {
  return cluster_from_json({"cluster.json", to_json(cluster)});
}

std::string refusal(const std::string& text) {
  try {
    (void)cluster_from_json({"hosts.json", text});
  } catch (const ReadError& error) {
    return error.what();
  }
  return "it was read";
}

// No field is empty, false, or of its first value.
Machine full_machine() {
  const PciDevice pci{.address = PciAddress{0x10000, 0x0f, 3, 1},
                      .class_code = 0x030200,
                      .vendor = 0x10de,
                      .device = 0x2330,
                      .subsystem_vendor = 0x10df,
                      .subsystem_device = 0x16c1,
                      .link = {.max_speed = 32,
                               .speed = 2.5,
                               .max_width = 16,
                               .width = 8,
                               .as_written = "2.5 GT/s PCIe"}};
  Machine machine;
  machine.name = "node07";
  machine.sources = {"live", "nvidia-smi-topo"};
  machine.cpu = {.architecture = "arm64",
                 .vendor = "ARM",
                 .model = "Neoverse-V2",
                 .family = 8,
                 .model_number = 79,
                 .sockets = 2,
                 .cores = 144,
                 .threads = 144};
  machine.numa = {
      {.id = 0, .cpus = *CpuSet::from_list("0-71"), .memory = std::uint64_t{1} << 39, .socket = 1},
      {.id = 9, .cpus = {}, .memory = std::nullopt, .socket = std::nullopt}};
  machine.gpus = {{.name = "NVIDIA GB200",
                   .uuid = "GPU-1",
                   .pci = pci,
                   .numa = 0,
                   .memory_numa = 9,
                   .cpus = CpuSet::from_list("0-3"),
                   .sm = 100,
                   .memory = std::uint64_t{189} << 30,
                   .gpudirect = false,
                   .nvlinks = {{.number = 3,
                                .active = true,
                                .GBps = 26.562,
                                .remote = PciAddress{0, 0xc1, 0, 0},
                                .remote_kind = "Switch"},
                               {.number = 4,
                                .active = false,
                                .GBps = std::nullopt,
                                .remote = std::nullopt,
                                .remote_kind = ""}}}};
  machine.switches = {{.pci = pci,
                       .access_control = AccessControl{.source_validation = true,
                                                       .request_redirect = true,
                                                       .completion_redirect = true,
                                                       .upstream_forwarding = true},
                       .name = "PEX89144"}};
  machine.nvswitches = {{.pci = {}, .access_control = std::nullopt, .name = "NVSwitch"}};
  machine.nics = {{.name = "mlx5_0",
                   .pci = pci,
                   .numa = 0,
                   .kind = NicKind::roce,
                   .state = NicState::down,
                   .rate_Gbps = 400,
                   .port = 2,
                   .netdev = "eth2",
                   .guid = "b859:9f03:00aa:0001",
                   .board = "MT4129",
                   .physical_state = "Polling",
                   .gpudirect = true,
                   .virtual_function = true,
                   .gids = {{.index = 3,
                             .address = "fe80:0000:0000:0000:0000:0000:0000:0001",
                             .type = "RoCE v2",
                             .netdev = "eth2",
                             .readable = false}}}};
  machine.interfaces = {{.name = "eth2",
                         .kind = InterfaceKind::tunnel,
                         .up = false,
                         .addresses = {"10.0.0.1/24", "fe80::1/64"},
                         .master = "bond0",
                         .rate_Gbps = 0.1,
                         .pci = pci.address}};
  machine.links = {{.from = {DeviceKind::gpu, 0},
                    .to = {DeviceKind::nvswitch, 0},
                    .kind = LinkKind::nvlink,
                    .count = 18,
                    .GBps = 721.8},
                   {.from = {DeviceKind::nic, 0},
                    .to = {DeviceKind::numa, 9},
                    .kind = LinkKind::c2c,
                    .count = 1,
                    .GBps = std::nullopt}};
  machine.stated = {{.from = {DeviceKind::gpu, 0}, .to = {DeviceKind::nic, 0}, .label = "SYS"}};
  machine.peers = {{.from = {DeviceKind::gpu, 0},
                    .to = {DeviceKind::gpu, 0},
                    .capability = 'w',
                    .status = "CNS"}};
  machine.system = {
      .kernel = "6.8.0",
      .kernel_command_line = "iommu=pt \"quoted\"",
      .product = "NVIDIA GB200",
      .provider = Provider::oci,
      .virtual_machine = true,
      .container = false,
      .gpu_driver = "570.1",
      .nccl = "2.28.9",
      .nccl_library = "/usr/lib/libnccl.so.2",
      .iommu_groups = 77,
      .peer_memory = true,
      .dmabuf = false,
      .shared_memory = std::uint64_t{64} << 20,
      .locked_memory = std::numeric_limits<std::uint64_t>::max(),
      .verbs_devices = true,
      .fabric_manager = false,
      .settings = {{.variable = "NCCL_IB_HCA", .value = "=mlx5_0", .origin = "/etc/nccl.conf"}}};
  machine.findings = {{.severity = Severity::info,
                       .code = "no-acs",
                       .message = "cannot tell",
                       .where = "SW0",
                       .remedy = "run as root"}};
  return machine;
}

TEST(Json, EveryFieldOfAMachineComesBack) {
  Cluster cluster = cluster_of({full_machine(), test::hgx_h100(), test::workstation()});
  cluster.findings = {{.severity = Severity::error,
                       .code = "differing-nccl",
                       .message = "NCCL versions differ",
                       .where = "node07",
                       .remedy = "install one"}};
  EXPECT_TRUE(there_and_back(cluster) == cluster);
}

TEST(Json, EveryFieldOfAFabricComesBack) {
  Cluster cluster;
  cluster.fabric = read_recording({"f", test::two_rails(3).text()}).fabric;
  cluster.fabric->blocks = {{"node00", "node01"}, {"node02"}};
  cluster.fabric->block_sizes = {1, 2};
  cluster.fabric->adapters[0].kind = AdapterKind::aggregation;
  EXPECT_TRUE(there_and_back(cluster) == cluster);
}

TEST(Json, AnEmptyMachineComesBackEmpty) {
  const Cluster cluster = cluster_of({Machine{}});
  EXPECT_TRUE(there_and_back(cluster) == cluster);
}

TEST(Json, HasTheKeysOfTheContract) {
  const Cluster cluster = cluster_of({full_machine()});
  const std::vector<PathTable> paths{PathTable({{.from = {DeviceKind::gpu, 0},
                                                 .to = {DeviceKind::nic, 0},
                                                 .kind = PathKind::P2C,
                                                 .label = "NODE",
                                                 .GBps = std::nullopt}})};
  const std::vector<DeviceId> placement{{DeviceKind::gpu, 0}};
  const json all = json::parse(to_json(cluster, {.paths = paths, .placement = placement}));
  EXPECT_EQ(all["version"], 1);
  EXPECT_TRUE(all["fabric"].is_null());
  EXPECT_EQ(all["placement"], json::array({"GPU0"}));
  EXPECT_TRUE(all.at("placement_caveat").is_null());
  EXPECT_EQ(all["findings"][0]["severity"], "info");
  const json& host = all["hosts"][0];
  EXPECT_EQ(host["name"], "node07");
  EXPECT_EQ(host["source"], "live");
  EXPECT_EQ(host["cpu"]["cores"], 144);
  EXPECT_EQ(host["numa"][0]["cpus"], "0-71");
  const auto values = [](const json& object, const std::vector<std::string>& keys) {
    std::string text;
    for (const std::string& key : keys) text += object.at(key).dump() + " ";
    return text;
  };
  EXPECT_EQ(values(host["gpus"][0], {"id", "name", "pci", "numa", "sm", "nvlinks", "memory"}),
            "\"GPU0\" \"NVIDIA GB200\" \"10000:0f:03.1\" 0 100 1 202937204736 ");
  EXPECT_EQ(values(host["switches"][0], {"id", "pci", "kind", "link_GBps"}),
            "\"SW0\" \"10000:0f:03.1\" \"pcie\" null ");
  EXPECT_EQ(values(host["switches"][1], {"id", "pci", "kind", "link_GBps"}),
            "\"NVS0\" null \"nvswitch\" null ");
  EXPECT_EQ(values(host["nics"][0],
                   {"id", "name", "pci", "numa", "kind", "rate_Gbps", "state", "netdev"}),
            "\"NIC0\" \"mlx5_0\" \"10000:0f:03.1\" 0 \"roce\" 400.0 \"down\" \"eth2\" ");
  EXPECT_EQ(values(host["links"][0], {"from", "to", "kind", "count", "GBps"}),
            "\"GPU0\" \"NVS0\" \"nvlink\" 18 721.8 ");
  EXPECT_EQ(values(host["paths"][0], {"from", "to", "kind", "label", "GBps"}),
            "\"GPU0\" \"NIC0\" \"P2C\" \"NODE\" null ");
}

TEST(Json, AFabricHasTheKeysOfTheContract) {
  Cluster cluster;
  cluster.fabric = read_recording({"f", test::two_rails(3).text()}).fabric;
  const json fabric = json::parse(to_json(cluster))["fabric"];
  EXPECT_EQ(fabric["tiers"], 2);
  EXPECT_EQ(fabric["switches"].size(), 4U);
  EXPECT_EQ(fabric["hcas"].size(), 6U);
  EXPECT_EQ(fabric["rails"][1]["device"], "mlx5_1");
}

TEST(Json, CountsNvlinksByPortsElseByLinks) {
  const json host = json::parse(to_json(cluster_of({test::hgx_h100()})))["hosts"][0];
  EXPECT_EQ(host["gpus"][7]["nvlinks"], 18);
  const json desk = json::parse(to_json(cluster_of({test::workstation()})))["hosts"][0];
  EXPECT_TRUE(desk["gpus"][0]["nvlinks"].is_null());
}

TEST(Json, WhatIsNotANumberIsUnknown) {
  Machine machine = test::workstation();
  machine.nics[0].rate_Gbps = std::nan("");
  machine.links[0].GBps = std::numeric_limits<double>::infinity();
  const Cluster back = there_and_back(cluster_of({machine}));
  EXPECT_EQ(back.hosts[0].nics[0].rate_Gbps, std::nullopt);
  EXPECT_EQ(back.hosts[0].links[0].GBps, std::nullopt);
}

TEST(Json, TextThatIsNotUtf8IsWrittenAsWellAsItCanBe) {
  Machine machine;
  machine.name =
      "no\xff"
      "de";
  EXPECT_EQ(there_and_back(cluster_of({machine})).hosts[0].name,
            "no\xef\xbf\xbd"
            "de");
}

TEST(Json, OneHostIsARecordingOfIt) {
  Machine machine = test::hgx_h100();
  const Reading reading = read_recording({"host.json", to_json(cluster_of({machine}))});
  EXPECT_TRUE(reading.machine == machine);
  EXPECT_FALSE(reading.fabric);
  try {
    (void)read_recording({"hosts.json", to_json(cluster_of({machine, machine}))});
    FAIL() << "read";
  } catch (const ReadError& error) {
    EXPECT_THAT(error.what(), HasSubstr("expected the JSON of one host, found 2 hosts"));
  }
}

TEST(Json, TheContractsKeysAloneAreEnough) {
  const Cluster cluster = cluster_from_json({"old.json", R"({"version": 1, "hosts": [
    {"name": "a", "source": "live", "gpus": [{"id": "GPU0", "name": "H100", "numa": null}],
     "switches": [{"id": "SW0", "pci": "0000:01:00.0", "kind": "pcie", "link_GBps": 48}],
     "links": [{"from": "GPU0", "to": "SW0", "kind": "pcie", "count": 1, "GBps": 48}],
     "unheard-of": {"x": [1]}}], "fabric": null, "findings": []})"});
  ASSERT_EQ(cluster.hosts.size(), 1U);
  EXPECT_EQ(cluster.hosts[0].gpus[0].name, "H100");
  EXPECT_EQ(cluster.hosts[0].gpus[0].numa, std::nullopt);
  EXPECT_EQ(cluster.hosts[0].switches[0].pci.address, (PciAddress{0, 1, 0, 0}));
  EXPECT_EQ(cluster.hosts[0].links[0].GBps, 48);
}

TEST(Json, WhatIsNoJsonIsRefusedWithItsLine) {
  EXPECT_THAT(refusal("{\n\"version\": 1,\n\"hosts\": [NaN]}"),
              StartsWith("hosts.json:3: not JSON: "));
  EXPECT_THAT(refusal("{\"version\": 1,\n\"hosts\": [\n"), StartsWith("hosts.json:3: not JSON: "));
  EXPECT_THAT(refusal("{\"version\": 1, \"hosts\": [\"\xff\"]}"),
              StartsWith("hosts.json:1: not JSON: "));
  EXPECT_THAT(refusal(""), StartsWith("hosts.json:1: not JSON: "));
  EXPECT_THAT(refusal("{\"version\": 1, \"hosts\": [1e999]}"),
              StartsWith("hosts.json: expected numbers that a double can hold"));
}

TEST(Json, BombsAreRefused) {
  const auto deep = [](std::size_t levels) {
    return fmt::format("{{\"version\": 1, \"hosts\": [], \"x\": {}1{}}}", std::string(levels, '['),
                       std::string(levels, ']'));
  };
  EXPECT_EQ(refusal(deep(20)), "it was read");
  EXPECT_EQ(refusal(deep(1000000)),
            "hosts.json: expected nesting of at most 32 levels, found more");
  std::string wide = "{\"version\": 1, \"hosts\": [], \"x\": [0";
  for (int i = 0; i < 1000000; ++i) wide += ",0";
  EXPECT_EQ(refusal(wide + "]}"),
            "hosts.json: expected a description of hosts, found a list of numbers");
  std::string keys = "{\"version\": 1, \"hosts\": []";
  for (int i = 0; i < 100000; ++i) keys += fmt::format(",\"key number {}\": \"value\"", i);
  EXPECT_EQ(refusal(keys + "}"), "it was read");
}

TEST(Json, AFieldThatIsNotAsExpectedIsNamed) {
  const auto host = [](const std::string& fields) {
    return refusal("{\"version\": 1, \"hosts\": [{}, {" + fields + "}]}");
  };
  EXPECT_EQ(host(R"("gpus": [{"numa": "x"}])"),
            "hosts.json: hosts[1].gpus[0].numa: expected a whole number from -1 to 2147483647, "
            "found \"x\"");
  EXPECT_THAT(host(R"("gpus": [{"numa": 1e300}])"), HasSubstr("gpus[0].numa: expected a whole"));
  EXPECT_THAT(host(R"("gpus": [{"numa": -2}])"), HasSubstr("gpus[0].numa: expected a whole"));
  EXPECT_THAT(host(R"("gpus": [{"numa": 18446744073709551615}])"), HasSubstr("expected a whole"));
  EXPECT_THAT(host(R"("gpus": [{"memory": -1}])"), HasSubstr("memory: expected a whole number"));
  EXPECT_THAT(host(R"("gpus": [{"pci": "0:0"}])"), HasSubstr("pci: expected a PCI address"));
  EXPECT_THAT(host(R"("gpus": [{"class": "x"}])"), HasSubstr("class: expected a hexadecimal"));
  EXPECT_THAT(host(R"("gpus": [3])"), HasSubstr("hosts[1].gpus[0]: expected an object, found 3"));
  EXPECT_THAT(host(R"("gpus": {})"), HasSubstr("hosts[1].gpus: expected a list, found a group"));
  EXPECT_THAT(host(R"("cpu": [])"), HasSubstr("hosts[1].cpu: expected an object, found a list"));
  EXPECT_THAT(host(R"("numa": [{"cpus": "0-999999"}])"), HasSubstr("expected a list of CPUs"));
  EXPECT_THAT(host(R"("nics": [{"kind": "token-ring"}])"),
              HasSubstr("nics[0].kind: expected one of unknown, infiniband, roce, ethernet, efa, "
                        "other, found \"token-ring\""));
  EXPECT_THAT(host(R"("nics": [{"rate_Gbps": -1}])"), HasSubstr("expected a finite number from 0"));
  EXPECT_THAT(host(R"("switches": [{"kind": "x"}])"), HasSubstr("expected pcie or nvswitch"));
  EXPECT_THAT(host(R"("links": [{"from": "CPU0"}])"),
              HasSubstr("links[0].from: expected a device"));
  EXPECT_EQ(host(R"("gpus": [{}], "links": [{"from": "GPU0", "to": "NIC0"}])"),
            "hosts.json: hosts[1].links[0]: expected two devices of the host, found GPU0 and NIC0");
  EXPECT_THAT(host(R"("gpus": [{}], "links": [{"from": "GPU0", "to": "GPU0", "count": -1}])"),
              HasSubstr("links[0].count: expected a number from 0"));
}

TEST(Json, AnotherVersionIsRefused) {
  EXPECT_THAT(refusal(R"({"version": 2, "hosts": []})"),
              StartsWith("hosts.json: version: expected 1, found 2"));
  EXPECT_THAT(refusal(R"({"hosts": []})"), StartsWith("hosts.json: version: expected 1, found 0"));
  EXPECT_EQ(refusal(R"({"version": 1})"), "hosts.json: expected the key \"hosts\", found none");
  EXPECT_EQ(refusal("[]"), "hosts.json: the document: expected an object, found a list");
  EXPECT_THAT(refusal(R"({"version": 1, "hosts": [], "findings": [{"host": 0}]})"),
              HasSubstr("findings[0].host: expected a position among 0 hosts, found 0"));
}

TEST(Json, CutAnywhereItIsRefusedAndNeverCrashes) {
  const std::string whole = to_json(cluster_of({full_machine()}));
  for (std::size_t size = 0; size + 2 < whole.size(); ++size)
    EXPECT_THAT(refusal(whole.substr(0, size)), HasSubstr("not JSON")) << size;
}

}  // namespace
}  // namespace lockstep::topology
