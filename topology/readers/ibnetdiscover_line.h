// The grammar of ibnetdiscover's lines.
//
// Thread rule: pure functions. Source: infiniband-diags (ibnetdiscover.c), and ibsim's net files,
// which use a part of it:
//   Switch  65 "S-2c5e..."            # "MF0;LEAF01:MQM9701/U1" enhanced port 0 lid 73 lmc 0
//   [1]     "H-e09d..."[1](e09d...)   # "node07 mlx5_5" lid 647 4xNDR
//   [1](e09d...)  "S-2c5e..."[17]     # lid 662 lmc 0 "MF0;LEAF01:MQM9701/U1" lid 73 4xNDR
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::topology {

enum class FabricNodeKind { fabric_switch, adapter, router };

struct FabricNodeLine {
  FabricNodeKind kind = FabricNodeKind::fabric_switch;
  int ports = 0;
  std::string_view id;           // as quoted: "S-2c5e..."
  std::string_view description;  // empty where there is none
};

struct FabricPortLine {
  int port = 0;
  std::string_view peer;  // as quoted
  int peer_port = 0;
  double rate_Gbps = 0;  // 0: not stated
};

// Whether `line` begins as a node's does: a kind, a number, a quote.
[[nodiscard]] bool begins_node(std::string_view line);
// Whether `line` begins as a port's does: a bracket and a digit. (A shell's prompt
// may begin with a bracket too.)
[[nodiscard]] bool begins_port(std::string_view line);

// Empty where the line breaks off or is damaged; `fault` then says what was expected.
// REQUIRES: begins_node(line), begins_port(line).
[[nodiscard]] std::optional<FabricNodeLine> parse_node_line(std::string_view line,
                                                            std::string& fault);
[[nodiscard]] std::optional<FabricPortLine> parse_port_line(std::string_view line,
                                                            std::string& fault);

// "4xNDR" is 400; empty for what is no such word or speed. Nominal rates, as adapters are sold.
[[nodiscard]] std::optional<double> parse_link_rate(std::string_view word);

}  // namespace lockstep::topology
