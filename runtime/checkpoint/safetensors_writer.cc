#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/checkpoint/safetensors.h"

namespace lockstep::runtime::checkpoint {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "tensors are stored little-endian");

std::string quoted(const std::string& text) {
  return json(text).dump();
}

void require_writable(std::span<const TensorView> tensors) {
  std::set<std::string_view> names;
  for (const TensorView& tensor : tensors) {
    if (tensor.name == "__metadata__" || !names.insert(tensor.name).second) {
      throw SafetensorsError(fmt::format(
          "tensor name \"{}\" cannot be written: it is reserved, or occurs twice", tensor.name));
    }
    const auto bytes = byte_count(tensor.dtype, tensor.shape);
    if (!bytes || *bytes != tensor.bytes.size()) {
      throw SafetensorsError(fmt::format(
          "tensor \"{}\" cannot be written: {} needs {}, it has {} bytes", tensor.name,
          text_of(tensor.dtype, tensor.shape),
          bytes ? fmt::format("{} bytes", *bytes) : "no size that exists", tensor.bytes.size()));
    }
  }
}

std::string header_text(std::span<const TensorView> tensors, const TensorMetadata& metadata) {
  std::string text = "{";
  if (!metadata.empty()) text += fmt::format("\"__metadata__\":{}", json(metadata).dump());
  std::uint64_t begin = 0;
  for (const TensorView& tensor : tensors) {
    const std::uint64_t end = begin + tensor.bytes.size();
    text += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}",
                        text.size() > 1 ? "," : "", quoted(tensor.name), name_of(tensor.dtype),
                        json(tensor.shape).dump(), begin, end);
    begin = end;
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kLargestHeader) {
    throw SafetensorsError(fmt::format(
        "{} tensors cannot be written in one file: their header has {} bytes, more than {}",
        tensors.size(), text.size(), kLargestHeader));
  }
  return text;
}

}  // namespace

void write_safetensors(WritableFile& file, std::span<const TensorView> tensors,
                       const TensorMetadata& metadata) {
  require_writable(tensors);
  const std::string header = header_text(tensors, metadata);
  std::vector<std::byte> begin(kLengthBytes + header.size());
  const std::uint64_t length = header.size();
  std::memcpy(begin.data(), &length, kLengthBytes);
  std::memcpy(begin.data() + kLengthBytes, header.data(), header.size());
  file.write(begin);
  for (const TensorView& tensor : tensors) {
    if (!tensor.bytes.empty()) file.write(tensor.bytes);
  }
}

}  // namespace lockstep::runtime::checkpoint
