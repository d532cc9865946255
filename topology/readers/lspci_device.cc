#include "topology/readers/lspci_device.h"

#include <array>
#include <utility>

#include "topology/pci_vendors.h"
#include "topology/readers/lines.h"

namespace lockstep::topology {
namespace {

// The PCI class list's words for what is of interest here.
constexpr std::array kClasses{
    std::pair{std::string_view("PCI bridge"), 0x060400U},
    std::pair{std::string_view("Bridge"), 0x068000U},
    std::pair{std::string_view("VGA compatible controller"), 0x030000U},
    std::pair{std::string_view("3D controller"), 0x030200U},
    std::pair{std::string_view("Display controller"), 0x038000U},
    std::pair{std::string_view("Processing accelerators"), 0x120000U},
    std::pair{std::string_view("Ethernet controller"), 0x020000U},
    std::pair{std::string_view("Infiniband controller"), 0x020700U},
    std::pair{std::string_view("InfiniBand controller"), 0x020700U},
    std::pair{std::string_view("Fabric controller"), 0x020800U},
    std::pair{std::string_view("Network controller"), 0x028000U},
};

constexpr std::array kMakers{
    std::pair{std::string_view("NVIDIA Corporation"), kNvidia},
    std::pair{std::string_view("Advanced Micro Devices"), kAmd},
    std::pair{std::string_view("Mellanox Technologies"), kMellanox},
    std::pair{std::string_view("Broadcom / LSI"), 0x1000U},
    std::pair{std::string_view("Broadcom Inc. and subsidiaries"), 0x14e4U},
    std::pair{std::string_view("Intel Corporation"), 0x8086U},
    std::pair{std::string_view("Amazon.com"), 0x1d0fU},
    std::pair{std::string_view("Google"), 0x1ae0U},
    std::pair{std::string_view("PLX Technology"), 0x10b5U},
    std::pair{std::string_view("PMC-Sierra"), 0x11f8U},
    std::pair{std::string_view("Microsemi"), 0x11f8U},
    std::pair{std::string_view("Texas Instruments"), 0x104cU},
    std::pair{std::string_view("Red Hat"), 0x1af4U},
};

template <typename Table>
std::optional<std::uint32_t> number_of(const Table& table, std::string_view name) {
  for (const auto& [begins, number] : table) {
    if (name.starts_with(begins)) return number;
  }
  return std::nullopt;
}

// The hexadecimal number that is all of `text` and has as many digits.
std::optional<std::uint32_t> hexadecimal(std::string_view text, std::size_t digits) {
  if (text.size() != digits) return std::nullopt;
  return parse_number<std::uint32_t>(text, 16);
}

// "[10de:2330]", the last such in `text`, which is cut before it.
void take_ids(std::string_view& text, PciDevice& pci) {
  for (std::size_t open = text.rfind('['); open != kNowhere;
       open = open == 0 ? kNowhere : text.rfind('[', open - 1)) {
    if (text.size() < open + 11 || text[open + 10] != ']' || text[open + 5] != ':') continue;
    const auto vendor = hexadecimal(text.substr(open + 1, 4), 4);
    const auto device = hexadecimal(text.substr(open + 6, 4), 4);
    if (!vendor || !device) continue;
    pci.vendor = vendor;
    pci.device = device;
    text = trimmed(text.substr(0, open));
    return;
  }
}

// "LnkCap: Port #0, Speed 32GT/s, Width x16, ASPM", "LnkSta: Speed 16GT/s (downgraded), Width x2"
struct LinkText {
  std::optional<double> speed;
  std::optional<int> width;
  std::string_view speed_text;
};

LinkText parse_link(std::string_view text) {
  LinkText link;
  if (const std::size_t at = text.find("Speed "); at != kNowhere) {
    const std::string_view rest = text.substr(at + 6);
    link.speed_text = rest.substr(0, rest.find_first_of(", "));
    const std::size_t unit = link.speed_text.find("GT/s");
    if (unit != kNowhere) link.speed = parse_number<double>(link.speed_text.substr(0, unit));
  }
  if (const std::size_t at = text.find("Width x"); at != kNowhere) {
    const std::string_view rest = text.substr(at + 7);
    link.width = parse_number<int>(rest.substr(0, rest.find_first_not_of("0123456789")));
    if (link.width == 0) link.width.reset();  // nothing is plugged in
  }
  return link;
}

bool is_set(std::string_view text, std::string_view flag) {
  const std::size_t at = text.find(flag);
  return at != kNowhere && text.substr(at + flag.size()).starts_with('+');
}

// "Bus: primary=00, secondary=01, subordinate=05"
std::optional<int> secondary_bus(std::string_view text) {
  constexpr std::string_view kSecondary = "secondary=";
  const std::size_t at = text.find(kSecondary);
  if (at == kNowhere) return std::nullopt;
  return parse_number<int>(text.substr(at + kSecondary.size(), 2), 16);
}

}  // namespace

std::optional<LspciDevice> parse_lspci_head(std::string_view line) {
  const std::size_t blank = line.find(' ');
  if (blank == kNowhere) return std::nullopt;
  LspciDevice device;
  device.pci.address = parse_pci_address(line.substr(0, blank));
  if (!device.pci.address) return std::nullopt;
  const std::size_t colon = line.find(": ", blank);
  if (colon == kNowhere) return std::nullopt;

  std::string_view kind = trimmed(line.substr(blank, colon - blank));
  if (kind.ends_with(']') && kind.size() > 6 && kind[kind.size() - 6] == '[') {
    if (const auto code = hexadecimal(kind.substr(kind.size() - 5, 4), 4))
      device.pci.class_code = *code << 8;
    kind = trimmed(kind.substr(0, kind.size() - 6));
  }
  if (!device.pci.class_code) device.pci.class_code = number_of(kClasses, kind);

  std::string_view product = line.substr(colon + 2);
  product = trimmed(product.substr(0, product.find(" (rev ")));
  product = trimmed(product.substr(0, product.find(" (prog-if ")));
  take_ids(product, device.pci);
  device.product = product;
  if (!device.pci.vendor) device.pci.vendor = number_of(kMakers, product);
  // A device that lspci's list does not know: "Device 2330".
  if (const std::size_t at = product.rfind("Device "); at != kNowhere && !device.pci.device)
    device.pci.device = hexadecimal(product.substr(at + 7), 4);
  return device;
}

void add_lspci_detail(std::string_view line, LspciDevice& device) {
  const std::string_view text = trimmed(line);
  if (text.empty()) return;
  device.verbose = true;
  if (const auto node = after(text, "NUMA node: ")) {
    device.numa = parse_number<int>(trimmed(*node));
  } else if (const auto bus = after(text, "Bus: ")) {
    device.below = secondary_bus(*bus);
  } else if (const auto driver = after(text, "Kernel driver in use: ")) {
    device.driver = trimmed(*driver);
  } else if (text.starts_with("Capabilities: <access denied>")) {
    device.capabilities_denied = true;
  } else if (text.starts_with("Capabilities: [")) {
    device.has_capabilities = true;
  } else if (const auto most = after(text, "LnkCap:")) {
    const LinkText link = parse_link(*most);
    device.pci.link.max_speed = link.speed;
    device.pci.link.max_width = link.width;
  } else if (const auto now = after(text, "LnkSta:")) {
    const LinkText link = parse_link(*now);
    device.pci.link.speed = link.speed;
    device.pci.link.width = link.width;
    device.pci.link.as_written = link.speed_text;
  } else if (const auto control = after(text, "ACSCtl:")) {
    device.access_control = AccessControl{.source_validation = is_set(*control, "SrcValid"),
                                          .request_redirect = is_set(*control, "ReqRedir"),
                                          .completion_redirect = is_set(*control, "CmpltRedir"),
                                          .upstream_forwarding = is_set(*control, "UpstreamFwd")};
  }
}

bool is_bridge(const PciDevice& pci) {
  return pci.class_code.value_or(0) >> 8 == 0x0604;
}

}  // namespace lockstep::topology
