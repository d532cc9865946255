// What was computed of the recordings apart from this program, in their sidecars: NCCL's XML and
// hwloc's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/topology/corpus.h"
#include "topology/paths.h"
#include "topology/readers/formats.h"

namespace lockstep::topology {
namespace {

namespace fs = std::filesystem;

struct Sidecar {
  std::string name;
  std::string text;
  Machine machine;
};

// Those of a folder that state what was computed.
std::vector<Sidecar> sidecars(const std::string& folder) {
  std::vector<Sidecar> all;
  for (const auto& entry : fs::directory_iterator(test::corpus_folder() / folder)) {
    const std::string name = folder + "/" + entry.path().stem().string();
    if (entry.path().extension() != ".md") continue;
    const auto side = test::corpus(name + ".md");
    const auto recording = test::corpus(name);
    if (!side || !recording || side->text.find("computed: ") == std::string::npos) continue;
    all.push_back({name, side->text, read_recording(*recording).machine});
  }
  return all;
}

// The number in front of `words`.
std::optional<std::size_t> stated(const std::string& text, const std::string& words) {
  std::smatch match;
  if (!std::regex_search(text, match, std::regex("([0-9]+) " + words))) return std::nullopt;
  return std::stoul(match[1]);
}

// As the file has them: between GPUs both sides say so.
std::size_t stated_links(const Machine& machine) {
  std::size_t count = 0;
  for (const Link& link : machine.links) {
    if (link.kind != LinkKind::nvlink && link.kind != LinkKind::xgmi) continue;
    const bool both = link.from.kind == DeviceKind::gpu && link.to.kind == DeviceKind::gpu;
    count += static_cast<std::size_t>(link.count) * (both ? 2 : 1);
  }
  return count;
}

std::string address_of(const PciDevice& pci) {
  return pci.address ? to_string(*pci.address) : "";
}

// "PXB:mlx5_0,mlx5_1": the adapters nearest to a GPU; PIX where NCCL flattens the switches that the
// sidecar counts.
void expect_nearest(const Sidecar& side, const PathTable& paths, int gpu, const std::string& list) {
  PathKind best = PathKind::unknown;
  std::vector<int> nearest;
  for (int n = 0; n < static_cast<int>(side.machine.nics.size()); ++n) {
    const PathKind kind = paths.between({DeviceKind::gpu, gpu}, {DeviceKind::nic, n}).kind;
    if (kind < best) nearest.clear();
    best = std::min(best, kind);
    if (kind == best) nearest.push_back(n);
  }
  const std::string kind = list.substr(0, list.find(':'));
  EXPECT_TRUE(to_string(best) == kind || (best == PathKind::PIX && kind == "PXB"))
      << side.name << " GPU" << gpu << ": " << to_string(best) << ", stated " << kind;
  std::vector<std::string> names, ours;
  std::istringstream rest(list.substr(list.find(':') + 1));
  for (std::string name; std::getline(rest, name, ',');) names.push_back(name);
  for (const int n : nearest) {
    const Nic& nic = side.machine.nics[static_cast<std::size_t>(n)];
    ours.push_back(nic.name.empty() ? address_of(nic.pci) : nic.name);
  }
  std::ranges::sort(names);
  std::ranges::sort(ours);
  EXPECT_EQ(ours, names) << side.name << " GPU" << gpu;
}

TEST(Sidecars, OfNcclsXmlHaveItsDevicesLinksAndRails) {
  if (!fs::exists(test::corpus_folder())) GTEST_SKIP() << "SKIPPED: the recordings are absent";
  const std::vector<Sidecar> all = sidecars("nccl-xml");
  EXPECT_GE(all.size(), 10U);
  for (const Sidecar& side : all) {
    EXPECT_EQ(side.machine.numa.size(), stated(side.text, "NUMA nodes")) << side.name;
    EXPECT_EQ(side.machine.gpus.size(), stated(side.text, "GPUs, [0-9]+ NICs")) << side.name;
    EXPECT_EQ(side.machine.nics.size(), stated(side.text, "NICs/net devices")) << side.name;
    EXPECT_EQ(side.machine.switches.size(), stated(side.text, "PCI bridges")) << side.name;

    std::smatch match;
    ASSERT_TRUE(std::regex_search(side.text, match, std::regex("link count total ([0-9]+)")));
    const std::size_t total = std::stoul(match[1]);
    std::size_t to_itself = 0;  // a link of a GPU to itself is none
    if (side.name.find("ncv4") != std::string::npos) to_itself = total;
    EXPECT_EQ(stated_links(side.machine) + to_itself, total) << side.name;

    PathOptions direct;
    direct.nic_through_gpu = false;
    const PathTable paths = paths_of(side.machine, direct);
    const std::regex rail("([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-9])->([A-Z]+:[^; \\n]+)");
    int rails = 0;
    for (std::sregex_iterator at(side.text.begin(), side.text.end(), rail), end; at != end; ++at) {
      const auto& gpus = side.machine.gpus;
      const auto gpu = std::ranges::find_if(
          gpus, [&](const Gpu& each) { return address_of(each.pci) == (*at)[1].str(); });
      ASSERT_NE(gpu, gpus.end()) << side.name << " " << (*at)[1];
      expect_nearest(side, paths, static_cast<int>(gpu - gpus.begin()), (*at)[2]);
      ++rails;
    }
    EXPECT_EQ(static_cast<std::size_t>(rails), side.machine.gpus.size()) << side.name;
  }
}

TEST(Sidecars, OfHwlocsXmlHaveItsProcessorsAndGpus) {
  if (!fs::exists(test::corpus_folder())) GTEST_SKIP() << "SKIPPED: the recordings are absent";
  const std::vector<Sidecar> all = sidecars("hwloc");
  EXPECT_GE(all.size(), 5U);
  for (const Sidecar& side : all) {
    EXPECT_EQ(side.machine.numa.size(), stated(side.text, "NUMA nodes")) << side.name;
    EXPECT_EQ(side.machine.gpus.size(), stated(side.text, "NVIDIA GPUs")) << side.name;
    EXPECT_EQ(static_cast<std::size_t>(side.machine.cpu.sockets.value_or(-1)),
              stated(side.text, "packages"))
        << side.name;
    EXPECT_EQ(static_cast<std::size_t>(side.machine.cpu.cores.value_or(-1)),
              stated(side.text, "cores"))
        << side.name;
    EXPECT_EQ(static_cast<std::size_t>(side.machine.cpu.threads.value_or(-1)),
              stated(side.text, "PUs"))
        << side.name;
  }
}

}  // namespace
}  // namespace lockstep::topology
