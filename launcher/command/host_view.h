// What `probe` and `tune` look at: this host, recordings of a host, or hosts that are reached by
// ssh.
//
// Thread rule: one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/command/command.h"
#include "topology/advice/advice.h"
#include "topology/cluster.h"

namespace lockstep::launcher {

struct ViewOptions {
  std::vector<std::string> from;  // files; several are recordings of one host
  std::optional<std::string> hosts, hostfile, hostfile_format;
  std::string ssh = "ssh";
  int deadline_s = 20;
};

void add_view_options(CLI::App& app, ViewOptions& options);

struct View {
  topology::Cluster cluster;  // findings of judging included
  std::string fabric_source;  // the files that cluster.fabric was read from
  bool complete = true;       // every host was reached
  bool here = false;          // it is this host, live
};

// Errors: UsageError for flags that do not go together, topology::ReadError for a file that cannot
// be read. Hosts that were not reached are findings of the cluster.
[[nodiscard]] View look(const ViewOptions& options);

// Adds those that are not there yet.
void add_new(std::vector<topology::Finding>& findings, std::vector<topology::Finding> more);

}  // namespace lockstep::launcher
