// What tests of readers ask of a reading.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/topology/corpus.h"
#include "topology/machine.h"
#include "topology/readers/reading.h"

namespace lockstep::topology {

// The label of a pair as the recording states it, in either order; "" where it does not.
inline std::string label(const Machine& machine, DeviceId a, DeviceId b) {
  for (const StatedPath& path : machine.stated) {
    if ((path.from == a && path.to == b) || (path.from == b && path.to == a)) return path.label;
  }
  return {};
}

inline DeviceId gpu(int index) {
  return {DeviceKind::gpu, index};
}

inline DeviceId nic(int index) {
  return {DeviceKind::nic, index};
}

inline std::vector<std::string> codes(const std::vector<Finding>& findings) {
  std::vector<std::string> all;
  for (const Finding& finding : findings) all.push_back(finding.code);
  return all;
}

// All messages with that code, one a line.
inline std::string messages(const std::vector<Finding>& findings, std::string_view code) {
  std::string all;
  for (const Finding& finding : findings) {
    if (finding.code == code) all += finding.message + "\n";
  }
  return all;
}

// Where recordings of real machines lie, if they are there.
inline std::filesystem::path corpus() {
  return test::corpus_folder();
}

inline Recording load(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {path.filename().string(), {std::istreambuf_iterator<char>(file), {}}};
}

}  // namespace lockstep::topology
