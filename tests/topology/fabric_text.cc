#include "tests/topology/fabric_text.h"

#include <fmt/format.h>

namespace lockstep::topology::test {

FabricText& FabricText::describe(const std::string& id, const std::string& description) {
  descriptions_[id] = description;
  return *this;
}

FabricText& FabricText::link(const std::string& a, const std::string& b, const std::string& rate) {
  std::vector<End>& ends = ports_[a];
  std::vector<End>& others = ports_[b];
  ends.push_back({b, others.size() + 1, rate});
  others.push_back({a, ends.size(), rate});
  return *this;
}

std::string FabricText::text() const {
  const auto described = [&](const std::string& id) {
    const auto found = descriptions_.find(id);
    return found == descriptions_.end() ? id : found->second;
  };
  std::string text = "#\n# Topology file: generated on Tue Mar  3 10:00:00 2026\n#\n";
  for (const auto& [id, ends] : ports_) {
    const bool is_switch = id.starts_with("S-");
    text += fmt::format("\nvendid=0x2c9\ndevid=0x1021\n{}\t{} \"{}\"\t\t# \"{}\"{}\n",
                        is_switch ? "Switch" : "Ca", is_switch ? 65 : 4, id, described(id),
                        is_switch ? " enhanced port 0 lid 3 lmc 0" : "");
    for (std::size_t i = 0; i < ends.size(); ++i) {
      text += fmt::format("[{}]{}\t\"{}\"[{}]\t\t# {}\"{}\" lid 9 {}\n", i + 1,
                          is_switch ? "" : "(b8599f0300aa0001) ", ends[i].peer, ends[i].peer_port,
                          is_switch ? "" : "lid 4 lmc 0 ", described(ends[i].peer), ends[i].rate);
    }
  }
  return text;
}

FabricText two_rails(int hosts) {
  FabricText fabric;
  for (int host = 0; host < hosts; ++host) {
    for (int device = 0; device < 2; ++device) {
      const std::string id = fmt::format("H-{:04x}", 16 * host + device);
      fabric.describe(id, fmt::format("node{:02} mlx5_{}", host, device));
      fabric.link(fmt::format("S-a{}", device), id);
    }
  }
  for (const char* leaf : {"S-a0", "S-a1"})
    for (const char* spine : {"S-b0", "S-b1"}) fabric.link(leaf, spine);
  return fabric;
}

}  // namespace lockstep::topology::test
