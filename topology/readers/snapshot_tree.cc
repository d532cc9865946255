#include "topology/readers/snapshot_tree.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace lockstep::topology {
namespace {

constexpr int kMostSymbolicLinks = 40;  // as Linux
constexpr std::size_t kLongestPath = 4096;

// The part of a recorded path from its first /sys, /proc, ... on; empty where it has none.
std::string_view below_root(std::string_view path) {
  constexpr std::array<std::string_view, 5> kTops{"sys", "proc", "etc", "dev", "run"};
  constexpr int kDeepestPrefix = 8;
  for (int part = 0; part < kDeepestPrefix; ++part) {
    while (!path.empty() && path.front() == '/') path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('/'));
    if (std::ranges::find(kTops, name) != kTops.end()) return path;
    path.remove_prefix(name.size());
  }
  return {};
}

void append_utf8(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0U | (code >> 6));
    text += static_cast<char>(0x80U | (code & 0x3fU));
  } else {
    text += static_cast<char>(0xe0U | ((code >> 12) & 0x0fU));
    text += static_cast<char>(0x80U | ((code >> 6) & 0x3fU));
    text += static_cast<char>(0x80U | (code & 0x3fU));
  }
}

// Python's \xNN and \uNNNN; the number of characters of it, 0 where it is none.
std::size_t append_numbered(std::string& text, std::string_view escape) {
  const std::size_t digits = escape.starts_with('x') ? 2 : escape.starts_with('u') ? 4 : 0;
  if (digits == 0 || escape.size() < 1 + digits) return 0;
  std::uint32_t code = 0;
  const char* const end = escape.data() + 1 + digits;
  if (std::from_chars(escape.data() + 1, end, code, 16).ptr != end) return 0;
  append_utf8(text, code);
  return 1 + digits;
}

std::string unquoted(std::string_view text, std::size_t limit) {
  if (text.starts_with("b'") || text.starts_with("b\"")) text.remove_prefix(1);
  if (!text.empty() && (text.front() == '\'' || text.front() == '"')) {
    const char quote = text.front();
    text.remove_prefix(1);
    if (!text.empty() && text.back() == quote) text.remove_suffix(1);
  }
  std::string plain;
  for (std::size_t i = 0; i < text.size() && plain.size() < limit; ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      plain += text[i];
      continue;
    }
    ++i;
    if (text[i] == 'n')
      plain += '\n';
    else if (text[i] == 't')
      plain += '\t';
    else if (text[i] == 'r')
      plain += '\r';
    else if (const std::size_t count = append_numbered(plain, text.substr(i)); count > 0)
      i += count - 1;
    else
      plain += text[i];
  }
  return plain;
}

}  // namespace

bool SnapshotTree::parse(std::string_view line, std::string_view& path, Entry& entry) {
  if (line.size() < 3 || line[1] != ' ') return false;
  std::string_view rest = line.substr(2);
  if (line[0] == 'D') {
    entry.kind = Kind::folder;
  } else if (line[0] == 'L' || line[0] == 'F') {
    const std::string_view between = line[0] == 'L' ? " -> " : " = ";
    const std::size_t at = rest.find(between);
    if (at == std::string_view::npos) return false;
    entry = {line[0] == 'L' ? Kind::link : Kind::file, rest.substr(at + between.size())};
    rest = rest.substr(0, at);
  } else if (line[0] == 'B') {
    entry.kind = Kind::omitted;
    rest = rest.substr(0, rest.find(' '));
  } else {
    return false;
  }
  while (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  path = below_root(rest);
  // A folder above all of it ("D host") is no damage.
  return rest.size() <= kLongestPath && (!path.empty() || entry.kind == Kind::folder);
}

bool SnapshotTree::is_entry(std::string_view line) {
  std::string_view path;
  Entry entry;
  return parse(line, path, entry) && !path.empty();
}

SnapshotTree::SnapshotTree(std::string_view text) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    std::string_view path;
    Entry entry;
    if (!parse(line, path, entry)) {
      if (damaged_++ == 0) first_damaged_ = number;
    } else if (!path.empty()) {
      entries_.emplace(path, entry);
    }
  }
}

bool SnapshotTree::is_there(std::string_view key) const {
  if (key.empty()) return !entries_.empty();
  const auto found = entries_.lower_bound(key);
  if (found == entries_.end()) return false;
  if (found->first == key) return true;
  const std::string inside = std::string(key) + "/";
  const auto below = entries_.lower_bound(inside);
  return below != entries_.end() && below->first.starts_with(inside);
}

std::optional<std::string> SnapshotTree::real_path(std::string_view path) const {
  std::string done;  // no links, no first slash
  std::string rest(path);
  int links = 0;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string part = rest.substr(0, slash);
    rest.erase(0, slash == std::string::npos ? rest.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      const std::size_t last = done.rfind('/');
      done.erase(last == std::string::npos ? 0 : last);
      continue;
    }
    const std::string next = done.empty() ? part : done + "/" + part;
    const auto found = entries_.find(next);
    if (found == entries_.end() || found->second.kind != Kind::link) {
      done = next;
      continue;
    }
    if (++links > kMostSymbolicLinks || rest.size() + found->second.value.size() > kLongestPath)
      return std::nullopt;
    rest = std::string(found->second.value) + "/" + rest;
    if (rest.starts_with('/')) done.clear();
  }
  if (!is_there(done)) return std::nullopt;
  return "/" + done;
}

FileText SnapshotTree::read_at(std::string_view path, std::size_t offset, std::size_t limit) const {
  const auto real = real_path(path);
  if (!real) return {};
  const auto found = entries_.find(std::string_view(*real).substr(1));
  if (found == entries_.end()) return {FileStatus::refused, {}};  // a folder without a line
  if (found->second.kind != Kind::file) return {FileStatus::refused, {}};
  const std::string text = unquoted(found->second.value, offset + limit);
  return {FileStatus::read, text.substr(std::min(offset, text.size()))};
}

std::vector<std::string> SnapshotTree::list(std::string_view path) const {
  std::vector<std::string> names;
  const auto real = real_path(path);
  if (!real) return names;
  std::string inside = real->substr(1);
  if (!inside.empty()) inside += '/';
  auto entry = entries_.lower_bound(inside);
  while (entry != entries_.end() && entry->first.starts_with(inside)) {
    const std::string_view below = entry->first.substr(inside.size());
    const std::size_t slash = below.find('/');
    names.emplace_back(below.substr(0, slash));
    // What lies in a child's folder is skipped in one search: '0' follows '/'.
    if (slash == std::string_view::npos)
      ++entry;
    else
      entry = entries_.lower_bound(inside + names.back() + '0');
  }
  std::ranges::sort(names);
  // clang 14 cannot compile std::ranges::unique of g++ 12.
  names.erase(std::unique(names.begin(), names.end()), names.end());
  sort_naturally(names);
  return names;
}

bool SnapshotTree::exists(std::string_view path) const {
  return real_path(path).has_value();
}

}  // namespace lockstep::topology
