#include "topology/readers/ibnetdiscover_line.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "topology/letters.h"
#include "topology/readers/lines.h"

namespace lockstep::topology {
namespace {

constexpr std::size_t kMaxId = 64;  // "S-" and 16 digits; names in ibsim's files
constexpr int kMaxPort = 255;       // InfiniBand's ports are numbered in a byte

constexpr std::array<std::pair<std::string_view, FabricNodeKind>, 4> kKinds{{
    {"Switch", FabricNodeKind::fabric_switch},
    {"Ca", FabricNodeKind::adapter},
    {"Hca", FabricNodeKind::adapter},
    {"Rt", FabricNodeKind::router},
}};

// Gbit/s of a lane.
constexpr std::array<std::pair<std::string_view, double>, 9> kLanes{{
    {"SDR", 2.5},
    {"DDR", 5},
    {"QDR", 10},
    {"FDR10", 10},
    {"FDR", 14},
    {"EDR", 25},
    {"HDR", 50},
    {"NDR", 100},
    {"XDR", 200},
}};

// Takes a line apart from its left end.
class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}

  [[nodiscard]] std::string_view rest() const { return rest_; }
  void skip_blanks() {
    rest_ = rest_.substr(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
  }

  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<int> take_number() {
    std::size_t digits = 0;
    while (digits < rest_.size() && is_digit(rest_[digits])) ++digits;
    const auto number = parse_number<int>(rest_.substr(0, digits));
    if (number) rest_.remove_prefix(digits);
    return number;
  }

  // What stands between `open` and the next `close`.
  std::optional<std::string_view> take_between(char open, char close) {
    if (!rest_.starts_with(open)) return std::nullopt;
    const std::size_t end = rest_.find(close, 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return inside;
  }

 private:
  std::string_view rest_;
};

std::optional<FabricNodeKind> take_kind(Cursor& cursor) {
  for (const auto& [word, kind] : kKinds) {
    const auto rest = after(cursor.rest(), word);
    if (!rest || !(rest->starts_with(' ') || rest->starts_with('\t'))) continue;
    cursor = Cursor(*rest);
    cursor.skip_blanks();
    return kind;
  }
  return std::nullopt;
}

std::optional<int> take_port(Cursor& cursor) {
  const auto inside = cursor.take_between('[', ']');
  const auto number = inside ? parse_number<int>(*inside) : std::nullopt;
  if (!number || *number < 0 || *number > kMaxPort) return std::nullopt;
  return number;
}

// The number that a chassis has for the port, and the port's GUID: "[ext 5]", "(e09d...)".
void skip_port_details(Cursor& cursor) {
  if (cursor.rest().starts_with("[ext")) (void)cursor.take_between('[', ']');
  if (cursor.rest().starts_with("(")) (void)cursor.take_between('(', ')');
  cursor.skip_blanks();
}

}  // namespace

bool begins_node(std::string_view line) {
  Cursor cursor(line);
  if (!take_kind(cursor) || !cursor.take_number()) return false;
  cursor.skip_blanks();
  return cursor.take('"');
}

bool begins_port(std::string_view line) {
  return line.size() > 1 && line[0] == '[' && is_digit(line[1]);
}

std::optional<FabricNodeLine> parse_node_line(std::string_view line, std::string& fault) {
  Cursor cursor(line);
  FabricNodeLine node;
  node.kind = take_kind(cursor).value_or(FabricNodeKind::fabric_switch);
  node.ports = cursor.take_number().value_or(0);
  if (node.ports < 1 || node.ports > kMaxPort) {
    fault = "expected a number of ports from 1 to 255";
    return std::nullopt;
  }
  cursor.skip_blanks();
  const auto id = cursor.take_between('"', '"');
  if (!id || id->empty() || id->size() > kMaxId) {
    fault = "expected the node's id in quotes, of at most 64 bytes";
    return std::nullopt;
  }
  node.id = *id;
  // From the first quote to the last: descriptions may have quotes and anything else in them.
  const std::size_t open = cursor.rest().find('"');
  const std::size_t close = cursor.rest().rfind('"');
  if (open != std::string_view::npos && open == close) {
    fault = "expected the description's closing quote";
    return std::nullopt;
  }
  if (open != close) node.description = cursor.rest().substr(open + 1, close - open - 1);
  return node;
}

std::optional<FabricPortLine> parse_port_line(std::string_view line, std::string& fault) {
  Cursor cursor(line);
  FabricPortLine found;
  const auto port = take_port(cursor);
  skip_port_details(cursor);
  const auto peer = cursor.take_between('"', '"');
  const auto peer_port = take_port(cursor);
  if (!port || !peer || peer->empty() || peer->size() > kMaxId || !peer_port) {
    fault = "expected [port] \"id of the other end\"[its port], ports from 0 to 255";
    return std::nullopt;
  }
  found.port = *port;
  found.peer = *peer;
  found.peer_port = *peer_port;
  // Behind the description, which may contain anything.
  const std::size_t quote = cursor.rest().rfind('"');
  const std::string_view details =
      quote == std::string_view::npos ? cursor.rest() : cursor.rest().substr(quote + 1);
  for (const std::string_view word : words(details)) {
    if (const auto rate = parse_link_rate(word)) found.rate_Gbps = *rate;
  }
  return found;
}

std::optional<double> parse_link_rate(std::string_view word) {
  Cursor cursor(word);
  const auto lanes = cursor.take_number();
  if (!lanes || *lanes < 1 || *lanes > 16 || !cursor.take('x')) return std::nullopt;
  for (const auto& [name, Gbps] : kLanes) {
    if (cursor.rest() == name) return *lanes * Gbps;
  }
  return std::nullopt;
}

}  // namespace lockstep::topology
