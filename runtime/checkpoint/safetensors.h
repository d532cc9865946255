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
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/dtype.h"
#include "runtime/checkpoint/file_system.h"

namespace lockstep::runtime::checkpoint {

// The element types that the format knows, in its own order, the smallest first.
enum class TensorType : std::uint8_t {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64
};

// As in the file: "F32", "BF16".
[[nodiscard]] std::string_view name_of(TensorType type);
[[nodiscard]] unsigned bits_of(TensorType type);

[[nodiscard]] TensorType tensor_type(engine::DType type);
// Nothing for a type that the engine does not compute with.
[[nodiscard]] std::optional<engine::DType> engine_type(TensorType type);

// One tensor and where its bytes are. The bytes belong to somebody else, and need not be aligned
// for their type: files of older writers have headers of any length.
struct TensorView {
  std::string name;
  TensorType dtype = TensorType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

using TensorMetadata = std::map<std::string, std::string>;

class SafetensorsError : public std::runtime_error {
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
