#include "topology/probe/values.h"

#include <fmt/format.h>

#include <charconv>

namespace lockstep::topology {
namespace {

constexpr std::size_t kLongestValue = 65536;

template <typename Number>
std::optional<Number> whole(std::string_view text, int base) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return whole<std::int64_t>(trimmed(text), 10);
}

std::optional<std::uint32_t> parse_hex(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return whole<std::uint32_t>(text, 16);
}

std::optional<double> leading_number(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::optional<std::string> read_value(const FileTree& tree, std::string_view path) {
  const FileText file = tree.read(path, kLongestValue);
  if (file.status != FileStatus::read) return std::nullopt;
  return std::string(trimmed(file.text));
}

std::optional<std::int64_t> read_integer(const FileTree& tree, std::string_view path) {
  const auto text = read_value(tree, path);
  return text ? parse_integer(*text) : std::nullopt;
}

std::optional<std::uint32_t> read_hex(const FileTree& tree, std::string_view path) {
  const auto text = read_value(tree, path);
  return text ? parse_hex(*text) : std::nullopt;
}

std::optional<std::string> link_name(const FileTree& tree, std::string_view path) {
  const auto real = tree.real_path(path);
  if (!real) return std::nullopt;
  return real->substr(real->rfind('/') + 1);
}

Finding unreadable(std::string_view what, std::string_view path) {
  return {.severity = Severity::info,
          .code = "unreadable",
          .message =
              fmt::format("{} could not be read: {} is not there or may not be read", what, path),
          .where = std::string(path),
          .remedy = {}};
}

}  // namespace lockstep::topology
