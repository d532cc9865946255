// What a reader of recordings takes and gives, and how it refuses.
//
// A reader is a pure function of a file's bytes in a file of its own; readers/formats.cc lists them
// all. It takes what real programs print: old and new forms, banners, truncated rows, CRLF. What it
// cannot understand at all it refuses with a ReadError; what is damaged in part it reads in part,
// with a finding for each part that is missing. It never reads beyond the text and uses memory of
// at most a small multiple of it. Thread rule: pure functions.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "topology/fabric.h"
#include "topology/machine.h"

namespace lockstep::topology {

struct Recording {
  std::string name;  // the file's, for messages
  std::string text;
};

// One of both is filled: most recordings are of a host, some of the fabric between hosts.
struct Reading {
  Machine machine;
  std::optional<Fabric> fabric;
};

// "FILE:LINE: what was expected, what was found; what to do".
class ReadError : public std::runtime_error {
 public:
  // A line of 0 is the whole file.
  ReadError(std::string_view file, int line, std::string_view message);

  [[nodiscard]] int line() const { return line_; }

 private:
  int line_;
};

}  // namespace lockstep::topology
