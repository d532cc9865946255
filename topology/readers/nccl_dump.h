// Finds the lines of NCCL's topology dump in a log, and takes them apart.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::topology {

// "GPU/0-68000 (8)", "CPU/FFFFFFFFFFFFFFFF (1/2/-1)", "NVS/0".
struct NcclNode {
  std::string_view kind;     // "CPU", "PCI", "GPU", "NIC", "NET", "NVS", "GIN"
  std::uint64_t system = 0;  // which host of an NVLink domain
  std::uint64_t id = 0;      // of PCI devices the address: domain, 8 bits bus, 8 device, 4 function
  std::vector<std::string_view> details;  // what stands in parentheses, between slashes

  bool operator==(const NcclNode&) const = default;
};

// One line of a dump: a node at the left, or "+ LINK[GB/s] - NODE" below one.
struct NcclLine {
  std::size_t column = 0;       // of the "+", or of the node
  std::string_view link;        // "PCI", "NVL", "SYS", "NET", "C2C", "XGMI"; empty: a node alone
  double GBps = 0;              // of the link
  std::size_t node_column = 0;  // where the node's name begins: its children have their "+" there
  NcclNode node;
  int number = 0;  // line of the file
};

[[nodiscard]] std::optional<NcclLine> parse_nccl_line(std::string_view message);

// What a logged line says, without prefixes, and who says it ("host:pid:tid [0]").
struct NcclMessage {
  std::string_view text, speaker;
};

[[nodiscard]] NcclMessage nccl_message(std::string_view line);

struct NcclDump {
  std::string_view speaker;
  std::vector<NcclLine> lines;
  bool begins = false, ends = false;  // its first and last line are there
};

// The longest dump of the text, the first of equals; `hosts`: how many hosts have dumped.
struct NcclDumps {
  NcclDump longest;
  std::size_t hosts = 0;
};

[[nodiscard]] NcclDumps find_nccl_dump(std::string_view text);

// The host of "host:pid:tid [0]"; empty where it does not say.
[[nodiscard]] std::string_view nccl_host(std::string_view speaker);

}  // namespace lockstep::topology
