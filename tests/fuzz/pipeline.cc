#include "tests/fuzz/pipeline.h"

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "tests/fuzz/host_pipeline.h"
#include "topology/advice/advice.h"
#include "topology/advice/writers.h"
#include "topology/cluster_merge.h"
#include "topology/draw/fabric_text.h"
#include "topology/draw/text.h"
#include "topology/fabric_shape.h"
#include "topology/findings/judge.h"
#include "topology/json.h"
#include "topology/merge.h"
#include "topology/nccl_tests.h"
#include "topology/nccl_xml_writer.h"
#include "topology/paths.h"
#include "topology/placement.h"
#include "topology/readers/formats.h"
#include "topology/readers/nccl_xml.h"
#include "topology/tuner/table.h"

namespace lockstep::topology::test {
namespace {

constexpr std::string_view kNcclTests = "nccl-tests";
constexpr std::string_view kTunerTable = "tuner-table";
constexpr std::string_view kReplaced = "\xef\xbf\xbd";  // U+FFFD

void require(bool holds, const char* promise) {
  if (!holds) throw std::logic_error(promise);
}

void write_advice(const HostAdvice& advice) {
  (void)explain(advice);
  (void)write_json({&advice, 1});
  for (std::string (*const write)(const HostAdvice&) : {write_env, write_conf}) {
    try {
      (void)write(advice);
    } catch (const std::invalid_argument&) {
      // What would do harm, or does not fit the format, is refused.
    }
  }
}

// What was written may be more than the reader takes: hosts have no thousands of NICs.
void write_xml(const Machine& machine) {
  try {
    (void)write_nccl_xml(machine, NcclXmlForm::virtual_machine);
    (void)read_nccl_xml({"written.xml", write_nccl_xml(machine, NcclXmlForm::full)});
  } catch (const ReadError&) {
  } catch (const std::invalid_argument&) {
    // There is nothing to write of settings alone.
  }
}

// Text that is not UTF-8 is replaced when it is written, so what was read back is what must stay.
void there_and_back(const Cluster& cluster, const PathTable& paths,
                    std::span<const DeviceId> placement) {
  const std::string json =
      to_json(cluster, {.paths = {&paths, cluster.hosts.size()}, .placement = placement});
  const Cluster back = cluster_from_json({"written.json", json});
  if (back == cluster) return;
  require(json.find(kReplaced) != std::string::npos,
          "a cluster's JSON reads back as the same cluster");
  require(cluster_from_json({"again.json", to_json(back)}) == back,
          "a cluster that was read from JSON is written and read as the same");
}

void follow(Reading reading) {
  Machine& machine = reading.machine;
  const PathTable paths = paths_of(machine);
  for (Finding& finding : judge(machine, paths)) machine.findings.push_back(std::move(finding));
  const int gpus = static_cast<int>(machine.gpus.size());
  const std::vector<DeviceId> placement =
      gpus == 0 ? std::vector<DeviceId>{} : best_gpus(paths, gpus, std::min(gpus, 2));
  write_advice(advise(machine, paths, {}));
  (void)draw_text(machine, paths);
  (void)draw_findings(machine.findings);
  write_xml(machine);
  (void)merge({machine, machine});
  if (reading.fabric) {
    (void)shape_of(*reading.fabric);
    (void)draw_fabric(*reading.fabric);
  }
  (void)merge_hosts({machine, machine}, reading.fabric);
  there_and_back({.hosts = {machine}, .fabric = std::move(reading.fabric), .findings = {}}, paths,
                 placement);
}

void follow(const NcclTestsTable& table) {
  if (table.ranks && *table.ranks >= 1) (void)bus_factor(table.collective, *table.ranks);
  if (const auto run = infer_run(table)) (void)bus_factor(run->collective, run->ranks);
  (void)bandwidth_to_string(table.average_busbw_GBps);
}

}  // namespace

std::vector<std::string_view> pipelines() {
  std::vector<std::string_view> names;
  for (const Format& format : formats()) names.push_back(format.name);
  names.insert(names.end(), {kNcclTests, kTunerTable});
  const std::vector<std::string_view> of_hosts = launcher::test::host_pipelines();
  names.insert(names.end(), of_hosts.begin(), of_hosts.end());
  return names;
}

Outcome run_pipeline(std::string_view pipeline, std::string text, Depth depth) {
  if (std::ranges::count(launcher::test::host_pipelines(), pipeline) > 0)
    return launcher::test::run_host_pipeline(pipeline, text) ? Outcome::read : Outcome::refused;
  const Recording recording{"recorded.txt", std::move(text)};
  if (pipeline == kTunerTable) {
    const tuner::Table table = tuner::parse_table(recording.text);
    return table.rows.empty() ? Outcome::refused : Outcome::read;
  }
  try {
    if (pipeline == kNcclTests) {
      (void)is_nccl_tests(recording.text);
      follow(read_nccl_tests(recording));
      return Outcome::read;
    }
  } catch (const ReadError&) {
    return Outcome::refused;
  }
  const auto format = std::ranges::find(formats(), pipeline, &Format::name);
  (void)format->recognises(recording.text);
  std::optional<Reading> reading;
  try {
    reading = format->read(recording);
  } catch (const ReadError&) {
    return Outcome::refused;
  }
  if (depth == Depth::everything) follow(*std::move(reading));
  return Outcome::read;
}

}  // namespace lockstep::topology::test
