#include "topology/readers/nccl_log.h"

#include <fmt/format.h>

#include "topology/readers/lines.h"
#include "topology/readers/nccl_context.h"
#include "topology/readers/nccl_dump.h"
#include "topology/readers/nccl_tree.h"
#include "topology/readers/notes.h"

namespace lockstep::topology {

bool is_nccl_log(std::string_view text) {
  for (Lines lines(text); lines.next();) {
    const NcclMessage message = nccl_message(lines.text());
    if (message.text.starts_with("=== System : max")) return true;
    const auto line = parse_nccl_line(message.text);
    if (line && line->link == "PCI") return true;
  }
  return false;
}

Reading read_nccl_log(const Recording& recording) {
  const NcclDumps dumps = find_nccl_dump(recording.text);
  const NcclDump& dump = dumps.longest;
  if (dump.lines.empty()) {
    throw ReadError(recording.name, 0,
                    "NCCL's topology was expected after \"=== System\", the log does not hold it; "
                    "run with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,GRAPH,NET");
  }
  Notes notes(recording.name);
  const std::string_view host = nccl_host(dump.speaker);
  const NcclContext context = read_nccl_context(recording.text, host);
  Reading reading{.machine = read_nccl_tree(dump.lines, context, notes)};
  reading.machine.sources = {"nccl-log"};
  reading.machine.name = host;
  reading.machine.system.nccl = context.version;
  if (!dump.begins || !dump.ends) {
    notes.add({.severity = Severity::info,
               .code = "nccl-log-cut",
               .message = fmt::format("the {} of the dump is missing, so devices may be",
                                      dump.begins ? "end"
                                      : dump.ends ? "beginning"
                                                  : "beginning and the end"),
               .remedy = "keep the whole log"});
  }
  if (dumps.hosts > 1) {
    notes.add({.severity = Severity::info,
               .code = "other-hosts",
               .message = fmt::format("the log is of {} hosts; the dump of {} is read", dumps.hosts,
                                      host)});
  }
  reading.machine.findings = notes.take();
  return reading;
}

}  // namespace lockstep::topology
