// Single values as /sys and /proc write them.
//
// Each reads one small file of a tree and gives nothing where it is absent, refused or not of that
// form. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "topology/blanks.h"
#include "topology/finding.h"
#include "topology/probe/file_tree.h"

namespace lockstep::topology {

// The number that is all of `text`, blanks aside.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
[[nodiscard]] std::optional<std::uint32_t> parse_hex(std::string_view text);  // "0x10de", "10de"
// The number at the start of `text`: "400 Gb/sec", "16.0 GT/s PCIe".
[[nodiscard]] std::optional<double> leading_number(std::string_view text);

// The content without blanks around it; empty text is a value.
[[nodiscard]] std::optional<std::string> read_value(const FileTree& tree, std::string_view path);
[[nodiscard]] std::optional<std::int64_t> read_integer(const FileTree& tree, std::string_view path);
[[nodiscard]] std::optional<std::uint32_t> read_hex(const FileTree& tree, std::string_view path);

// The last part of the path that a link leads to.
[[nodiscard]] std::optional<std::string> link_name(const FileTree& tree, std::string_view path);

// An info finding "unreadable": `what` could not be read from `path`.
[[nodiscard]] Finding unreadable(std::string_view what, std::string_view path);

}  // namespace lockstep::topology
