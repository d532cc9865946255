// ibnetdiscover output of fabrics made up for a test.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace lockstep::topology::test {

// Nodes whose name begins with "S-" are switches, all others are adapters. Lines are written as
// ibnetdiscover does, each link at both ends.
class FabricText {
 public:
  FabricText& describe(const std::string& id, const std::string& description);
  // Joins the next free port of both.
  FabricText& link(const std::string& a, const std::string& b, const std::string& rate = "4xNDR");
  [[nodiscard]] std::string text() const;

 private:
  struct End {
    std::string peer;
    std::size_t peer_port;
    std::string rate;
  };
  std::map<std::string, std::string> descriptions_;
  std::map<std::string, std::vector<End>> ports_;
};

// `hosts` hosts with adapters mlx5_0 and mlx5_1, each on a leaf of its own (S-a0 and S-a1), and two
// spines (S-b0, S-b1) above both.
[[nodiscard]] FabricText two_rails(int hosts);

}  // namespace lockstep::topology::test
