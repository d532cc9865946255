#include "topology/readers/nccl_dump.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "topology/readers/lines.h"

namespace lockstep::topology {
namespace {

// NCCL dumps at most 256 nodes of a kind and host; ranks and communicators beyond these are noise.
constexpr std::size_t kMaxLines = 1 << 16;
constexpr std::size_t kMaxSpeakers = 1 << 12;

constexpr std::array<std::string_view, 7> kNodes{"CPU", "PCI", "GPU", "NIC", "NET", "NVS", "GIN"};
constexpr std::array<std::string_view, 6> kLinks{"PCI", "NVL", "SYS", "NET", "C2C", "XGMI"};

// "GPU/0-68000 (8)" and nothing behind it.
std::optional<NcclNode> parse_node(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == kNowhere) return std::nullopt;
  NcclNode node{.kind = text.substr(0, slash)};
  if (std::ranges::find(kNodes, node.kind) == kNodes.end()) return std::nullopt;
  const std::size_t end = text.find_first_of(" (", slash);
  std::string_view id = text.substr(slash + 1, end == kNowhere ? end : end - slash - 1);
  if (const std::size_t dash = id.find('-'); dash != kNowhere) {
    const auto system = parse_number<std::uint64_t>(id.substr(0, dash), 16);
    if (!system) return std::nullopt;
    node.system = *system;
    id.remove_prefix(dash + 1);
  }
  const auto number = parse_number<std::uint64_t>(id, 16);
  if (!number) return std::nullopt;
  node.id = *number;
  if (end == kNowhere) return node;

  std::string_view rest = trimmed(text.substr(end));
  if (rest.empty()) return node;
  if (!rest.starts_with('(') || !rest.ends_with(')')) return std::nullopt;
  rest = rest.substr(1, rest.size() - 2);
  while (true) {
    const std::size_t next = rest.find('/');
    node.details.push_back(rest.substr(0, next));
    if (next == kNowhere || node.details.size() > 8) return node;
    rest.remove_prefix(next + 1);
  }
}

bool is_speaker(std::string_view word) {
  const std::size_t last = word.rfind(':');
  if (last == kNowhere || last == 0) return false;
  const std::size_t first = word.rfind(':', last - 1);
  return first != kNowhere && parse_number<long>(word.substr(last + 1)) &&
         parse_number<long>(word.substr(first + 1, last - first - 1));
}

bool begins_dump(std::string_view message) {
  return message.starts_with("=== System : ");
}

// A dump ends at its line of "=", which the paths follow.
bool ends_dump(std::string_view message) {
  return message.starts_with("=====");
}

}  // namespace

std::optional<NcclLine> parse_nccl_line(std::string_view message) {
  NcclLine line;
  line.column = message.find_first_not_of(' ');
  if (line.column == kNowhere) return std::nullopt;
  std::size_t at = line.column;
  if (message[at] == '+') {
    const std::size_t open = message.find('[', at);
    const std::size_t close = message.find("] - ", at);
    if (open == kNowhere || close == kNowhere || close < open) return std::nullopt;
    line.link = trimmed(message.substr(at + 1, open - at - 1));
    const auto GBps = parse_number<double>(message.substr(open + 1, close - open - 1));
    if (std::ranges::find(kLinks, line.link) == kLinks.end() || !GBps || *GBps < 0)
      return std::nullopt;
    line.GBps = *GBps;
    at = close + 4;
  }
  const auto node = parse_node(trimmed(message.substr(at)));
  if (!node) return std::nullopt;
  line.node_column = at;
  line.node = *node;
  return line;
}

NcclMessage nccl_message(std::string_view line) {
  for (const std::string_view mark : {"NCCL INFO ", "RCCL INFO "}) {
    const std::size_t at = line.find(mark);
    if (at == kNowhere) continue;
    NcclMessage message{.text = line.substr(at + mark.size())};
    const auto before = words(line.substr(0, at));
    for (const std::string_view word : before) {
      if (!is_speaker(word)) continue;
      const auto start = static_cast<std::size_t>(word.data() - line.data());
      message.speaker = trimmed(line.substr(start, at - start));
    }
    return message;
  }
  return {.text = line};
}

std::string_view nccl_host(std::string_view speaker) {
  std::string_view word = speaker.substr(0, speaker.find(' '));
  for (int colons = 0; colons < 2; ++colons) word = word.substr(0, word.rfind(':'));
  // An MPI's tag stands in front: "[1,0]<stdout>:host:pid:tid".
  const std::size_t tag = word.rfind(':');
  return tag == kNowhere ? word : word.substr(tag + 1);
}

NcclDumps find_nccl_dump(std::string_view text) {
  NcclDumps dumps;
  std::map<std::string_view, NcclDump> open;  // by speaker, since ranks write at the same time
  std::set<std::string_view> hosts;
  const auto close = [&dumps](NcclDump& dump) {
    if (dump.lines.size() > dumps.longest.lines.size()) dumps.longest = std::move(dump);
  };
  std::size_t held = 0;
  for (Lines lines(text); lines.next();) {
    const NcclMessage message = nccl_message(lines.text());
    const bool ends = begins_dump(message.text) || ends_dump(message.text);
    auto parsed = ends ? std::nullopt : parse_nccl_line(message.text);
    if (!ends && !parsed) continue;
    if (open.size() >= kMaxSpeakers && !open.contains(message.speaker)) continue;
    NcclDump& dump = open[message.speaker];
    dump.speaker = message.speaker;
    if (ends) {
      held -= dump.lines.size();
      dump.ends = !begins_dump(message.text);
      close(dump);
      dump = {.speaker = message.speaker, .begins = begins_dump(message.text)};
      continue;
    }
    if (held >= kMaxLines) continue;
    ++held;
    hosts.insert(nccl_host(message.speaker));
    parsed->number = lines.number();
    dump.lines.push_back(*std::move(parsed));
  }
  for (auto& [speaker, dump] : open) {
    if (dump.lines.size() > dumps.longest.lines.size() ||
        (dump.lines.size() == dumps.longest.lines.size() && !dump.lines.empty() &&
         dump.lines.front().number < dumps.longest.lines.front().number))
      dumps.longest = std::move(dump);
  }
  dumps.hosts = hosts.size();
  return dumps;
}

}  // namespace lockstep::topology
