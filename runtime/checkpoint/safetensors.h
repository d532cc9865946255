// The safetensors format: named tensors in one file that no reader has to trust.
//
//   u64 N, little-endian | N bytes of JSON, beginning with '{' | the tensors' bytes, little-endian,
//   row-major
//   {"__metadata__": {text: text}, NAME: {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN,
//   END]}, ...}
//
// The reader refuses every file that the format forbids: tensors must cover the bytes after the
// header exactly, without hole or overlap, sizes must agree with shapes, no key may occur twice, N
// is at most 100,000,000. Format: https://github.com/huggingface/safetensors (README, "Format").
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/visibility.h"
#include "runtime/checkpoint/file_system.h"
#include "runtime/checkpoint/tensor_type.h"

namespace lockstep::runtime::checkpoint {

// "MAX_HEADER_SIZE" of the official library, in bytes.
inline constexpr std::uint64_t kLargestHeader = 100'000'000;
// What comes before the header: its length.
inline constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);

// One tensor and where its bytes are. The bytes belong to somebody else, and need not be aligned
// for their type: files of older writers have headers of any length.
struct TensorView {
  std::string name;
  TensorType dtype = TensorType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

using TensorMetadata = std::map<std::string, std::string>;

class LOCKSTEP_API SafetensorsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Safetensors {
  std::vector<TensorView> tensors;  // in the order of their bytes; views into what was parsed
  TensorMetadata metadata;
};

// Reads a whole file that lies in memory. `where` names it in errors.
// Throws SafetensorsError that says which rule is broken, by which tensor.
// Cost: the header's length; the tensors' bytes are not touched.
[[nodiscard]] Safetensors parse_safetensors(std::span<const std::byte> file,
                                            std::string_view where);

// Writes the tensors in the order given, the header padded with spaces so that the bytes begin at a
// multiple of 8. Throws SafetensorsError for a name that occurs twice or is "__metadata__", and for
// bytes that do not fit the shape; then nothing has been written. Cost: one write for the header
// and one a tensor that is not empty.
void write_safetensors(WritableFile& file, std::span<const TensorView> tensors,
                       const TensorMetadata& metadata);

}  // namespace lockstep::runtime::checkpoint
