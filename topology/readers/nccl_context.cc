#include "topology/readers/nccl_context.h"

#include "topology/readers/lines.h"
#include "topology/readers/nccl_dump.h"

namespace lockstep::topology {
namespace {

// "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_2:1/IB [RO]; OOB eth0:10.0.0.1<0>"
std::map<std::uint64_t, NcclNet> parse_nets(std::string_view list) {
  std::map<std::uint64_t, NcclNet> nets;
  for (const std::string_view word : words(list.substr(0, list.find(';')))) {
    const std::size_t close = word.find(']');
    const std::size_t colon = word.find(':');
    if (!word.starts_with('[') || close == kNowhere || colon == kNowhere || colon < close) continue;
    const auto number = parse_number<std::uint64_t>(word.substr(1, close - 1));
    const std::string_view name = word.substr(close + 1, colon - close - 1);
    if (!number || name.empty()) continue;
    if (word.find_first_of("+{}") != kNowhere) return {};
    NcclNet net{.name = std::string(name), .kind = NicKind::ethernet};
    if (word.ends_with("/IB")) net.kind = NicKind::infiniband;
    if (word.ends_with("/RoCE")) net.kind = NicKind::roce;
    nets.emplace(*number, net);
  }
  return nets;
}

}  // namespace

NcclContext read_nccl_context(std::string_view text, std::string_view host) {
  NcclContext context;
  for (Lines lines(text); lines.next();) {
    if (const std::size_t at = lines.text().find("NCCL version "); at != kNowhere) {
      const std::string_view rest = lines.text().substr(at + 13);
      const std::string_view version = rest.substr(0, rest.find_first_not_of("0123456789."));
      if (context.version.empty()) context.version = version;
      continue;
    }
    const NcclMessage message = nccl_message(lines.text());
    if (!context.nets.empty() || (!message.speaker.empty() && nccl_host(message.speaker) != host))
      continue;
    for (const std::string_view prefix : {"NET/IB : Using ", "NET/Socket : Using "}) {
      if (const auto list = after(message.text, prefix)) context.nets = parse_nets(*list);
    }
  }
  return context;
}

}  // namespace lockstep::topology
