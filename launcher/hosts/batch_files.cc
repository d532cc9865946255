#include "launcher/hosts/batch_files.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "launcher/hosts/host_collection.h"
#include "launcher/hosts/host_name.h"

namespace lockstep::launcher {
namespace {

// LSF's LSB_HOSTS is not among them: it is cut at a length.
constexpr std::array kSystems = {
    BatchSystem{"PBS", "PBS_NODEFILE", BatchFormat::kLineASlot, "PBS_JOBID"},
    BatchSystem{"LSF", "LSB_DJOB_HOSTFILE", BatchFormat::kLineASlot, "LSB_JOBID"},
    BatchSystem{"LSF", "LSB_MCPU_HOSTS", BatchFormat::kPairsValue, "LSB_JOBID"},
    BatchSystem{"SGE", "PE_HOSTFILE", BatchFormat::kColumns, "JOB_ID"},
    BatchSystem{"Cobalt", "COBALT_NODEFILE", BatchFormat::kLineAHost, "COBALT_JOBID"},
    BatchSystem{"LoadLeveler", "LOADL_HOSTFILE", BatchFormat::kLineASlot, "LOADL_STEP_ID"},
};

class BatchHosts {
 public:
  explicit BatchHosts(const LocatedText& text) : text_(text), hosts_(text) {}

  void read_names(BatchFormat format) {
    for (LineWalk lines(text_); lines.next();) {
      const std::vector<Word> words = words_of(lines.line());
      if (words.empty()) continue;
      if (words.size() > 1) {
        text_.refuse(words[1].place, fmt::format("expected one host a line, found '{}' behind it",
                                                 excerpt(words[1].text)));
      }
      AllocatedHost host = read_host(text_, words.front());
      if (format == BatchFormat::kLineAHost) {
        hosts_.add_new(std::move(host), words.front().place, "expected one line a host");
      } else {
        host.slots = 1;
        hosts_.add_slots(std::move(host), words.front().place);
      }
    }
  }

  void read_columns() {
    for (LineWalk lines(text_); lines.next();) {
      const std::vector<Word> words = words_of(lines.line());
      if (words.empty()) continue;
      if (words.size() < 2)
        text_.refuse(words.front().place, "expected 'host slots', found the host alone");
      add(words[0], words[1]);
    }
  }

  void read_pairs() {
    const std::vector<Word> words = words_of({text_.text(), {}});
    if (words.size() % 2 != 0)
      text_.refuse(words.back().place, "expected pairs of host and slots, found one without slots");
    for (std::size_t i = 0; i < words.size(); i += 2) add(words[i], words[i + 1]);
  }

  std::vector<AllocatedHost> take() { return hosts_.take(); }

 private:
  void add(Word name, Word slots) {
    AllocatedHost host = read_host(text_, name);
    host.slots = read_slots(text_, slots);
    hosts_.add_slots(std::move(host), name.place);
  }

  const LocatedText& text_;
  HostCollection hosts_;
};

}  // namespace

std::span<const BatchSystem> batch_systems() {
  return kSystems;
}

std::vector<AllocatedHost> read_batch_hosts(const LocatedText& text, BatchFormat format) {
  BatchHosts hosts(text);
  switch (format) {
    case BatchFormat::kLineASlot:
    case BatchFormat::kLineAHost:
      hosts.read_names(format);
      break;
    case BatchFormat::kColumns:
      hosts.read_columns();
      break;
    case BatchFormat::kPairsValue:
      hosts.read_pairs();
      break;
  }
  return hosts.take();
}

Allocation batch_allocation(const BatchSystem& system, const Environment& environment,
                            const FileReader& read) {
  const std::string& value = environment.find(system.variable)->second;
  Allocation allocation{.source = std::string(system.name),
                        .origin = Allocation::Origin::kBatchSystem,
                        .start = Allocation::Start::kSsh,
                        .hosts = {},
                        .job_id = {},
                        .end_time = std::nullopt,
                        .notes = {}};
  if (const auto job = environment.find(system.job); job != environment.end()) {
    allocation.job_id = job->second;
    allocation.source += fmt::format(" job {}", excerpt(job->second));
  }
  if (system.format == BatchFormat::kPairsValue) {
    allocation.hosts = read_batch_hosts(
        {LocatedText::Kind::kValue, std::string(system.variable), value}, system.format);
  } else {
    const std::string text = read(value, fmt::format("{}={}", system.variable, value));
    allocation.hosts = read_batch_hosts({LocatedText::Kind::kFile, value, text}, system.format);
  }
  return allocation;
}

}  // namespace lockstep::launcher
