// IDX, the format of MNIST: big-endian; 00 00, element type, number of dimensions; each dimension
// as u32; the elements.
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/data/file_bytes.h"
#include "runtime/data/source.h"

namespace lockstep::runtime::data {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;

std::string_view type_name(std::uint8_t type) {
  switch (type) {
    case 0x08:
      return "unsigned byte";
    case 0x09:
      return "signed byte";
    case 0x0B:
      return "short";
    case 0x0C:
      return "int";
    case 0x0D:
      return "float";
    case 0x0E:
      return "double";
    default:
      return "no type of IDX";
  }
}

// What a file must hold, for its messages.
struct Expected {
  std::string_view content;  // "images"
  std::size_t least_dimensions;
  std::size_t most_dimensions;
  std::string_view dimensions;  // "3 or 4 dimensions"
};
constexpr Expected kImages{"images", 3, 4, "3 or 4 dimensions (images, rows, columns, channels)"};
constexpr Expected kLabels{"labels", 1, 1, "1 dimension (labels)"};

struct Array {
  std::vector<std::size_t> extents;
  std::vector<std::uint8_t> elements;
};

// "FILE: byte 0: expected ..., found ..."
template <typename... Parts>
[[noreturn]] void fail(const FileBytes& file, std::size_t offset, fmt::format_string<Parts...> text,
                       Parts&&... parts) {
  throw DataError(
      fmt::format("{}: {}", file.place(offset), fmt::format(text, std::forward<Parts>(parts)...)));
}

void read_exactly(FileBytes& file, std::span<std::uint8_t> out, std::string_view what) {
  const std::size_t start = file.offset();
  const std::size_t found = file.read(out);
  if (found == out.size()) return;
  fail(file, start + found, "the file is cut off: expected {} bytes of {} from byte {}, found {}",
       out.size(), what, start, found);
}

std::size_t read_type_and_rank(FileBytes& file, const Expected& expected) {
  std::array<std::uint8_t, 4> magic{};
  read_exactly(file, magic, "IDX header");
  if (magic[0] != 0 || magic[1] != 0) {
    fail(file, 0, "not an IDX file: expected 00 00, found {:02x} {:02x}", magic[0], magic[1]);
  }
  if (magic[2] != kUnsignedByte) {
    fail(file, 2, "expected {} of type 08 (unsigned byte), found type {:02x} ({})",
         expected.content, magic[2], type_name(magic[2]));
  }
  const std::size_t rank = magic[3];
  if (rank < expected.least_dimensions || rank > expected.most_dimensions) {
    const bool swapped = (rank == 1) != (expected.most_dimensions == 1) && rank <= 4 && rank != 0;
    fail(file, 3, "expected {}, found {}{}", expected.dimensions, rank,
         swapped ? "; are images and labels exchanged?" : "");
  }
  return rank;
}

std::size_t read_extent(FileBytes& file) {
  const std::size_t start = file.offset();
  std::array<std::uint8_t, 4> bytes{};
  read_exactly(file, bytes, "IDX header");
  std::size_t extent = 0;
  for (const std::uint8_t byte : bytes) extent = extent << 8 | byte;
  if (extent == 0) fail(file, start, "expected a dimension of at least 1, found 0");
  return extent;
}

Array read_array(const std::filesystem::path& path, const Expected& expected) {
  FileBytes file(path);
  Array array;
  array.extents.resize(read_type_and_rank(file, expected));
  // Checked against the file's size before memory is taken: a damaged header may promise anything.
  std::size_t elements = 1;
  for (std::size_t& extent : array.extents) {
    const std::size_t start = file.offset();
    extent = read_extent(file);
    if (extent > file.size_limit() / elements) {
      fail(file, start,
           "the header promises more {} than the file holds: dimension {} with a file of "
           "at most {} bytes",
           expected.content, extent, file.size_limit());
    }
    elements *= extent;
  }
  array.elements.resize(elements);
  read_exactly(file, array.elements, expected.content);
  const std::size_t end = file.offset();
  std::array<std::uint8_t, 1> beyond{};
  if (file.read(beyond) != 0) {
    fail(file, end, "expected the end of the data after {} {}, found more bytes", array.extents[0],
         expected.content);
  }
  return array;
}

class Idx final : public Source {
 public:
  Idx(Array images, Array labels, std::int64_t classes)
      : pixels_(std::move(images.elements)),
        labels_(std::move(labels.elements)),
        classes_(classes) {
    const auto extent = [&](std::size_t axis) {
      return axis < images.extents.size() ? static_cast<std::int64_t>(images.extents[axis]) : 1;
    };
    shape_ = {extent(1), extent(2), extent(3)};
  }

  std::size_t size() const override { return labels_.size(); }
  SampleShape shape() const override { return {.image = shape_}; }
  std::int64_t classes() const override { return classes_; }

  void read(const SamplePlace& place, Sample& sample) const override {
    const std::size_t bytes = shape_.elements();
    sample.pixels = std::span(pixels_).subspan(place.index * bytes, bytes);
    sample.label = labels_[place.index];
  }

 private:
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint8_t> labels_;
  ImageShape shape_;
  std::int64_t classes_;
};

}  // namespace

std::unique_ptr<Source> open_idx(const std::filesystem::path& images,
                                 const std::filesystem::path& labels, std::int64_t classes) {
  Array image_array = read_array(images, kImages);
  Array label_array = read_array(labels, kLabels);
  if (image_array.extents[0] != label_array.extents[0]) {
    throw DataError(fmt::format("{}: byte 4: expected {} labels, one an image of {}, found {}",
                                labels.string(), image_array.extents[0], images.string(),
                                label_array.extents[0]));
  }
  for (std::size_t record = 0; record < label_array.elements.size(); ++record) {
    const int label = label_array.elements[record];
    if (label < classes) continue;
    constexpr std::size_t kHeader = 8;
    throw DataError(fmt::format(
        "{}: byte {}: record {}: expected a label of 0 to {} (model.classes is {}), found {}",
        labels.string(), kHeader + record, record, classes - 1, classes, label));
  }
  return std::make_unique<Idx>(std::move(image_array), std::move(label_array), classes);
}

}  // namespace lockstep::runtime::data
