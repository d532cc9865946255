#include "topology/readers/smi_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "topology/readers/lines.h"
#include "topology/readers/smi_header.h"

namespace lockstep::topology {
namespace {

// Of a text with more matrices than any has, the first are read.
constexpr std::size_t kMaxMatrices = 16;

// A line that is a whole header of a matrix: it names GPUs first, and nothing but devices. A name
// alone is a row that was cut.
std::optional<SmiHeader> whole_header(std::string_view line) {
  SmiHeader header = parse_smi_header(line);
  if (header.devices.size() + header.columns.size() < 2) return std::nullopt;
  if (header.devices.empty() || !is_smi_gpu(header.devices.front())) return std::nullopt;
  return header;
}

class MatrixReader {
 public:
  MatrixReader(CellLength cell_length, const Recording& recording, Notes& notes)
      : cell_length_(cell_length), file_(recording.name), notes_(notes) {}

  std::vector<SmiMatrix> read(std::string_view text) {
    for (Lines lines(text); lines.next();) {
      number_ = lines.number();
      take(without_escapes(lines.text()));
    }
    close();
    return std::move(matrices_);
  }

 private:
  void take(std::string_view line) {
    if (const std::size_t at = line.find("topo -"); at != kNowhere) {
      close();
      command_ = trimmed(line.substr(at + 5));
      return;
    }
    if (auto header = whole_header(line)) {
      open(*header);
      return;
    }
    if (!open_) return;
    if (trimmed(line).starts_with("Legend")) {
      close();
      return;
    }
    if (begin_row(line) || continue_row(line) || continue_header(line)) return;
    finish_row();
    const std::vector<std::string_view> parts = words(line);
    if (!parts.empty() && cell_length_(parts[0]) == parts[0].size())
      refuse("a device", "its name is missing", number_);
  }

  void open(const SmiHeader& header) {
    close();
    open_ = SmiMatrix{.command = command_, .columns = header.columns, .line = number_};
    command_.clear();
    add_devices(header.devices);
  }

  void add_devices(const std::vector<std::string_view>& names) {
    if (open_->devices.size() + names.size() > kMaxSmiDevices) {
      throw ReadError(
          file_, number_,
          fmt::format("a matrix of at most {} devices was expected, the header names more; is this "
                      "what nvidia-smi printed?",
                      kMaxSmiDevices));
    }
    for (const std::string_view name : names) {
      positions_.emplace(name, open_->devices.size());
      open_->devices.emplace_back(name);
    }
  }

  // A header wrapped by the terminal: more devices or columns before the first row.
  bool continue_header(std::string_view line) {
    if (!open_->rows.empty() || row_ || refused_) return false;
    SmiHeader more = parse_smi_header(line);
    if (more.devices.empty() && more.columns.empty()) return false;
    add_devices(more.devices);
    for (SmiColumn& column : more.columns) column.column = kNowhere;
    for (SmiColumn& column : open_->columns) column.column = kNowhere;
    open_->columns.insert(open_->columns.end(), more.columns.begin(), more.columns.end());
    return true;
  }

  bool begin_row(std::string_view line) {
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == kNowhere) return false;
    std::string_view name = words(line.substr(start)).front();
    auto found = positions_.find(name);
    if (found == positions_.end()) {
      // Unknown to the header, or the name and its first cell grew together.
      name = leading_smi_device(name);
      const std::string_view rest = trimmed(line.substr(start + name.size()));
      if (name.empty() || cell_length_(rest) == 0) return false;
      found = positions_.find(name);
    }
    finish_row();
    if (found == positions_.end()) {
      refuse(name, "the header does not name it", number_);
      return true;
    }
    row_ = SmiRow{.device = found->second, .line = number_};
    add_cells(line, start + name.size());
    return true;
  }

  // A row wrapped by the terminal goes on with more cells.
  bool continue_row(std::string_view line) {
    if (!row_ || row_->cells.size() >= open_->devices.size()) return false;
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == kNowhere || cell_length_(line.substr(start)) == 0) return false;
    if (line.find('=') != kNowhere) return false;  // of the legend: "X    = Self"
    add_cells(line, start);
    return true;
  }

  // Moves cells from the line to the row until it has all, or the next word is none.
  void add_cells(std::string_view line, std::size_t at) {
    while (row_->cells.size() < open_->devices.size()) {
      at = line.find_first_not_of(" \t", at);
      if (at == kNowhere) return;
      const std::size_t length = cell_length_(line.substr(at));
      if (length == 0) break;
      row_->cells.emplace_back(line.substr(at, length));
      at += length;
    }
    row_->tail = line.substr(at);
    row_->tail_column = at;
  }

  void finish_row() {
    if (!row_) return;
    const SmiRow row = *std::exchange(row_, std::nullopt);
    const std::string& name = open_->devices[row.device];
    const std::size_t wanted = open_->devices.size();
    if (row.cells.size() != wanted) {
      refuse(name, fmt::format("{} cells were expected, {} can be read", wanted, row.cells.size()),
             row.line);
      return;
    }
    for (std::size_t i = 0; i < wanted; ++i) {
      if ((row.cells[i] == "X") == (i == row.device)) continue;
      refuse(name, fmt::format("its X was expected in column {}, so cells have shifted", name),
             row.line);
      return;
    }
    // "NV180-31" is NV18 and 0-31, or NV180 and -31; "NV12 NV12" is one cell more than devices.
    const bool grown = !row.tail.empty() && row.tail.front() != ' ' && row.tail.front() != '\t';
    const char last = row.cells.back().back();
    const std::string_view rest = trimmed(row.tail);
    if ((grown && last >= '0' && last <= '9') || cell_length_(rest) > 0) {
      refuse(name,
             fmt::format("what follows its {} cells, \"{}\", may be part of them", wanted,
                         rest.substr(0, 40)),
             row.line);
      return;
    }
    const auto same = [&row](const SmiRow& other) { return other.device == row.device; };
    if (std::ranges::any_of(open_->rows, same)) {
      refuse(name, "the matrix has two rows of it", row.line);
      return;
    }
    open_->rows.push_back(row);
  }

  void refuse(std::string_view device, std::string_view why, int line) {
    refused_ = true;
    notes_.add({.severity = Severity::warning,
                .code = "row-refused",
                .message = fmt::format("the row of {} is not read: {}", device, why),
                .remedy = "record the matrix again, into a file rather than from a terminal"},
               line);
  }

  void close() {
    if (!open_) return;
    finish_row();
    std::set<std::string> names(open_->devices.begin(), open_->devices.end());
    if (names.size() == open_->devices.size()) {
      if ((!open_->rows.empty() || refused_) && matrices_.size() < kMaxMatrices)
        matrices_.push_back(*std::move(open_));
    } else {
      notes_.add({.severity = Severity::warning,
                  .code = "header-refused",
                  .message = "a matrix is not read: its header names a device twice",
                  .remedy = "record the matrix again"},
                 open_->line);
    }
    open_.reset();
    positions_.clear();
    refused_ = false;
  }

  CellLength cell_length_;
  std::string_view file_;
  Notes& notes_;
  int number_ = 0;
  std::string command_;
  std::optional<SmiMatrix> open_;
  std::map<std::string, std::size_t, std::less<>> positions_;  // of open_'s devices
  std::optional<SmiRow> row_;  // being read; lines that follow may go on with it
  bool refused_ = false;       // a row of open_ was
  std::vector<SmiMatrix> matrices_;
};

}  // namespace

std::vector<SmiMatrix> read_smi_matrices(const Recording& recording, CellLength cell_length,
                                         Notes& notes) {
  return MatrixReader(cell_length, recording, notes).read(recording.text);
}

bool has_smi_matrix(std::string_view text, CellLength cell_length) {
  std::size_t devices = 0;  // of the last header
  for (Lines lines(text); lines.next();) {
    const std::string line = without_escapes(lines.text());
    if (const auto header = whole_header(line)) {
      devices = header->devices.size();
      continue;
    }
    const std::string_view row = trimmed(line);
    const std::string_view name = leading_smi_device(row);
    if (devices == 0 || name.empty()) continue;
    std::string_view rest = trimmed(row.substr(name.size()));
    while (true) {
      const std::size_t length = cell_length(rest);
      if (length == 0) break;
      if (rest.substr(0, length) != "X" || devices == 1) return true;
      rest = trimmed(rest.substr(length));
    }
  }
  return false;
}

}  // namespace lockstep::topology
