#include "launcher/command/host_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

#include "launcher/hosts/allocation.h"
#include "launcher/hosts/host_file.h"
#include "launcher/hosts/ssh_destination.h"
#include "launcher/remote/everywhere.h"
#include "topology/cluster_merge.h"
#include "topology/fabric_join.h"
#include "topology/findings/judge.h"
#include "topology/json.h"
#include "topology/merge.h"
#include "topology/probe/probe.h"
#include "topology/readers/formats.h"
#include "topology/readers/lockstep_json.h"

namespace lockstep::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestRecording = std::size_t{512} << 20;
constexpr std::size_t kStep = std::size_t{1} << 20;

// All of a file or pipe, which may be endless: /dev/zero is no recording.
std::string text_of(std::istream& input, const std::string& name) {
  std::string text;
  while (input) {
    const std::size_t at = text.size();
    text.resize(at + kStep);
    input.read(text.data() + at, static_cast<std::streamsize>(kStep));
    text.resize(at + static_cast<std::size_t>(input.gcount()));
    if (text.size() > kLargestRecording) {
      throw topology::ReadError(name, 0, "larger than 512 MiB, which no recording is");
    }
  }
  if (input.bad()) throw topology::ReadError(name, 0, "cannot be read");
  return text;
}

topology::Recording recording_of(const std::string& path) {
  if (path == "-") return {.name = "standard input", .text = text_of(std::cin, "standard input")};
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw topology::ReadError(path, 0, "no such file");
  if (fs::is_directory(status))
    throw topology::ReadError(path, 0, "is a folder; give the recordings in it one by one");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw topology::ReadError(path, 0, "cannot be opened");
  return {.name = path, .text = text_of(file, path)};
}

// The fabric, out of as many files as there are subnets in it.
class ReadFabric {
 public:
  void add(topology::Fabric fabric, const std::string& file,
           std::vector<topology::Finding>& found) {
    if (!fabric_) {
      fabric_ = std::move(fabric);
      source_ = file;
    } else if (topology::has_guids(*fabric_) && topology::has_guids(fabric)) {
      fabric_ = topology::joined(std::move(*fabric_), std::move(fabric));
      source_ += " and " + file;
    } else {
      found.push_back(
          {.severity = topology::Severity::warning,
           .code = "second-fabric",
           .message = fmt::format("{} has a fabric too, which cannot be joined with "
                                  "that of {}: only ibnetdiscover has GUIDs to tell "
                                  "nodes by",
                                  file, source_),
           .where = file,
           .remedy = fmt::format("leave one of them out; that of {} is used", source_)});
    }
  }

  std::optional<topology::Fabric> take() { return std::move(fabric_); }
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  std::optional<topology::Fabric> fabric_;
  std::string source_;
};

View from_files(const std::vector<std::string>& paths) {
  std::vector<topology::Machine> parts, hosts;
  std::vector<topology::Finding> of_all;
  ReadFabric fabric;
  for (const std::string& path : paths) {
    const topology::Recording recording = recording_of(path);
    if (topology::is_lockstep_json(recording.text)) {
      topology::Cluster cluster = topology::cluster_from_json(recording);
      if (cluster.hosts.size() == 1) {
        parts.push_back(std::move(cluster.hosts.front()));
      } else {
        std::ranges::move(cluster.hosts, std::back_inserter(hosts));
      }
      if (cluster.fabric) fabric.add(std::move(*cluster.fabric), recording.name, of_all);
      std::ranges::move(cluster.findings, std::back_inserter(of_all));
      continue;
    }
    topology::Reading reading = topology::read_recording(recording);
    if (reading.fabric) {
      fabric.add(std::move(*reading.fabric), recording.name, of_all);
      std::ranges::move(reading.machine.findings, std::back_inserter(of_all));
    } else {
      parts.push_back(std::move(reading.machine));
    }
  }
  if (!parts.empty()) {
    topology::Machine host = topology::merge(std::move(parts));
    if (host.name.empty()) host.name = fs::path(paths.front()).stem().string();
    hosts.insert(hosts.begin(), std::move(host));
  }
  View view{.cluster = topology::merge_hosts(std::move(hosts), fabric.take()),
            .fabric_source = fabric.source(),
            .complete = true,
            .here = false};
  add_new(view.cluster.findings, std::move(of_all));
  return view;
}

View from_hosts(const Allocation& allocation, const ViewOptions& options) {
  const RemoteProgram program{.path = fs::read_symlink("/proc/self/exe"),
                              .name = "lockstep",
                              .args = {"probe", "--format", "json"}};
  RemoteOptions remote;
  remote.client = options.ssh;
  remote.deadline = std::chrono::seconds(options.deadline_s);
  std::vector<std::string> destinations;
  for (const AllocatedHost& host : allocation.hosts) destinations.push_back(ssh_destination(host));
  View view;
  std::vector<topology::Machine> hosts;
  std::vector<topology::Finding> unreached;
  auto asked = allocation.hosts.begin();
  for (const RemoteResult& result : run_everywhere(destinations, program, remote)) {
    const std::string& name = (asked++)->name;
    std::string failure = result.failure;
    if (result.output) {
      try {
        topology::Cluster seen =
            topology::cluster_from_json({.name = name, .text = *result.output});
        for (topology::Machine& host : seen.hosts) {
          host.name = name;
          hosts.push_back(std::move(host));
        }
        continue;
      } catch (const topology::ReadError& error) {
        failure = fmt::format("answered what is no probe: {}", error.what());
      }
    }
    view.complete = false;
    unreached.push_back(
        {.severity = topology::Severity::error,
         .code = "host-not-reached",
         .message = fmt::format("{} {}", name, failure),
         .where = name,
         .remedy = fmt::format("try `{} {} lockstep probe`", options.ssh, result.host)});
  }
  view.cluster = topology::merge_hosts(std::move(hosts));
  view.cluster.findings.insert(view.cluster.findings.begin(), unreached.begin(), unreached.end());
  return view;
}

// The hosts of the flags; a batch system's are not looked at unasked.
std::optional<Allocation> allocation_of(const ViewOptions& options) {
  HostRequest request;
  request.hosts = options.hosts;
  request.hostfile = options.hostfile;
  if (options.hostfile_format) {
    const auto format = hostfile_format(*options.hostfile_format);
    if (!format) {
      throw AllocationError(fmt::format(
          "--hostfile-format {}: expected openmpi, hydra or deepspeed", *options.hostfile_format));
    }
    request.format = *format;
  }
  Allocation allocation = find_hosts(request, {}, read_host_file);
  if (allocation.origin == Allocation::Origin::kThisMachine) return std::nullopt;
  for (const std::string& note : allocation.notes) fmt::print(stderr, "note: {}\n", note);
  return allocation;
}

View view_of(const ViewOptions& options) {
  const int given = static_cast<int>(!options.from.empty()) +
                    static_cast<int>(options.hosts.has_value()) +
                    static_cast<int>(options.hostfile.has_value());
  if (given > 1)
    throw UsageError("--from, --hosts and --hostfile do not go together: give one of them");
  if (!options.from.empty()) return from_files(options.from);
  try {
    if (const auto allocation = allocation_of(options)) return from_hosts(*allocation, options);
  } catch (const AllocationError& error) {
    throw UsageError(error.what());
  }
  return {.cluster = topology::merge_hosts({topology::probe()}),
          .fabric_source = "",
          .complete = true,
          .here = true};
}

}  // namespace

void add_view_options(CLI::App& app, ViewOptions& options) {
  app.add_option("--from", options.from,
                 "look at this recording instead of a live host ('-': standard input); several "
                 "files are of one host.\n"
                 "Its format is recognised by its content")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--hosts", options.hosts, "look at these hosts, by ssh")->type_name("A,B,C");
  app.add_option("--hostfile", options.hostfile, "the same, one host a line")->type_name("FILE");
  app.add_option("--hostfile-format", options.hostfile_format,
                 "openmpi, hydra or deepspeed (default: recognised by its content)")
      ->type_name("NAME");
  app.add_option("--ssh", options.ssh, "the ssh client and its flags (default: ssh)")
      ->type_name("COMMAND");
  app.add_option("--deadline", options.deadline_s, "seconds for a host to answer (default: 20)")
      ->type_name("S")
      ->check(CLI::Range(1, 86'400));
}

View look(const ViewOptions& options) {
  View view = view_of(options);
  for (topology::Machine& host : view.cluster.hosts) {
    add_new(host.findings, topology::judge(host, topology::paths_of(host)));
  }
  return view;
}

void add_new(std::vector<topology::Finding>& findings, std::vector<topology::Finding> more) {
  for (topology::Finding& finding : more) {
    if (std::ranges::find(findings, finding) == findings.end())
      findings.push_back(std::move(finding));
  }
}

}  // namespace lockstep::launcher
