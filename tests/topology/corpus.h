// Recordings of real machines, where they are: LOCKSTEP_SHARED/corpus/topology, or
// ../shared/corpus/topology beside the sources. Tests that want one skip without it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "topology/readers/reading.h"

namespace lockstep::topology::test {

inline std::filesystem::path corpus_folder() {
  const char* given = std::getenv("LOCKSTEP_SHARED");
  const std::filesystem::path shared = given != nullptr ? given : LOCKSTEP_SOURCE_DIR "/../shared";
  return shared / "corpus" / "topology";
}

inline std::optional<Recording> corpus(const std::string& name) {
  std::ifstream file(corpus_folder() / name, std::ios::binary);
  if (!file) return std::nullopt;
  return Recording{name, {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}};
}

}  // namespace lockstep::topology::test
