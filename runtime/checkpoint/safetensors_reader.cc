#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "runtime/checkpoint/safetensors.h"

namespace lockstep::runtime::checkpoint {
namespace {

using nlohmann::json;

class Parser {
 public:
  Parser(std::span<const std::byte> file, std::string_view where) : file_(file), where_(where) {}

  Safetensors parse() {
    const json header = parse_header();
    Safetensors result;
    std::vector<Placed> placed;
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        result.metadata = parse_metadata(entry);
      } else {
        placed.push_back(parse_entry(name, entry));
      }
    }
    std::stable_sort(placed.begin(), placed.end(), [](const Placed& left, const Placed& right) {
      return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
    });
    place(placed);
    for (Placed& tensor : placed) result.tensors.push_back(std::move(tensor.view));
    return result;
  }

 private:
  struct Placed {
    TensorView view;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  [[noreturn]] void refuse(std::string_view reason) const {
    throw SafetensorsError(fmt::format("{} is not a good safetensors file: {}", where_, reason));
  }

  json parse_header() {
    if (file_.size() < kLengthBytes) {
      refuse(fmt::format("it is {} bytes long, shorter than the 8 bytes of the header's length",
                         file_.size()));
    }
    std::uint64_t length = 0;
    std::memcpy(&length, file_.data(), kLengthBytes);
    if (length > kLargestHeader) {
      refuse(fmt::format("its header's length is {}, more than the {} that are allowed", length,
                         kLargestHeader));
    }
    if (length > file_.size() - kLengthBytes) {
      refuse(fmt::format("its header's length is {}, but only {} bytes follow", length,
                         file_.size() - kLengthBytes));
    }
    const auto bytes = file_.subspan(kLengthBytes, length);
    buffer_ = file_.subspan(kLengthBytes + length);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!text.starts_with('{')) refuse("its header does not begin with '{'");
    return parse_json(text);
  }

  // A JSON library keeps one of two equal keys; which of two tensors a name means must not be left
  // to it.
  json parse_json(std::string_view text) const {
    std::vector<std::set<std::string>> open_objects;
    std::optional<std::string> twice;
    const auto watch = [&](int, json::parse_event_t event, json& parsed) {
      if (event == json::parse_event_t::object_start) open_objects.emplace_back();
      if (event == json::parse_event_t::object_end) open_objects.pop_back();
      if (event == json::parse_event_t::key) {
        const auto& key = parsed.get_ref<const std::string&>();
        if (!open_objects.back().insert(key).second && !twice) twice = key;
      }
      return true;
    };
    json header;
    try {
      header = json::parse(text, watch);
    } catch (const json::parse_error& error) {
      refuse(fmt::format("its header is not JSON in UTF-8, at byte {} of {}", error.byte,
                         text.size()));
    }
    if (twice) refuse(fmt::format("the key \"{}\" occurs twice in its header", *twice));
    return header;
  }

  TensorMetadata parse_metadata(const json& entry) const {
    if (!entry.is_object()) refuse("\"__metadata__\" is not an object");
    TensorMetadata metadata;
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) refuse(fmt::format("\"__metadata__\" key \"{}\" is not text", key));
      metadata.emplace(key, value.get<std::string>());
    }
    return metadata;
  }

  Placed parse_entry(const std::string& name, const json& entry) const {
    const auto refuse_tensor = [&](std::string_view reason) {
      refuse(fmt::format("tensor \"{}\": {}", name, reason));
    };
    if (!entry.is_object()) refuse_tensor("its entry is not an object");
    for (const char* key : {"dtype", "shape", "data_offsets"}) {
      if (!entry.contains(key)) refuse_tensor(fmt::format("\"{}\" is missing", key));
    }
    Placed tensor;
    tensor.view.name = name;

    const json& dtype = entry.at("dtype");
    if (!dtype.is_string()) refuse_tensor("\"dtype\" is not text");
    const auto type = tensor_type_named(dtype.get_ref<const std::string&>());
    if (!type) {
      refuse_tensor(fmt::format("\"dtype\" is \"{}\", which is not known",
                                dtype.get_ref<const std::string&>()));
    }
    tensor.view.dtype = *type;

    const json& shape = entry.at("shape");
    if (!shape.is_array()) refuse_tensor("\"shape\" is not a list");
    for (const json& extent : shape) {
      if (!extent.is_number_unsigned() ||
          extent.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
        refuse_tensor(fmt::format("\"shape\" holds {}, not an extent", extent.dump()));
      }
      tensor.view.shape.push_back(extent.get<std::int64_t>());
    }

    const json& offsets = entry.at("data_offsets");
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      refuse_tensor("\"data_offsets\" is not [BEGIN, END]");
    }
    tensor.begin = offsets[0].get<std::uint64_t>();
    tensor.end = offsets[1].get<std::uint64_t>();
    if (tensor.end < tensor.begin) {
      refuse_tensor(
          fmt::format("its bytes end at {}, before they begin at {}", tensor.end, tensor.begin));
    }
    const auto bytes = byte_count(*type, tensor.view.shape);
    if (!bytes) {
      refuse_tensor(fmt::format("the size of {} overflows, or is no whole number of bytes",
                                text_of(*type, tensor.view.shape)));
    }
    if (tensor.end - tensor.begin != *bytes) {
      refuse_tensor(fmt::format("{} needs {} bytes, \"data_offsets\" gives it {}",
                                text_of(*type, tensor.view.shape), *bytes,
                                tensor.end - tensor.begin));
    }
    return tensor;
  }

  void place(std::vector<Placed>& placed) const {
    std::uint64_t expected = 0;
    for (Placed& tensor : placed) {
      if (tensor.begin != expected) {
        refuse(
            fmt::format("tensor \"{}\" begins at byte {}, which leaves {} the tensor before it, "
                        "that ends at {}",
                        tensor.view.name, tensor.begin,
                        tensor.begin < expected ? "an overlap with" : "a hole after", expected));
      }
      expected = tensor.end;
    }
    if (expected != buffer_.size()) {
      refuse(fmt::format("its tensors need {} bytes after the header, it has {}", expected,
                         buffer_.size()));
    }
    for (Placed& tensor : placed) {
      tensor.view.bytes = buffer_.subspan(tensor.begin, tensor.end - tensor.begin);
    }
  }

  std::span<const std::byte> file_;
  std::span<const std::byte> buffer_;
  std::string_view where_;
};

}  // namespace

Safetensors parse_safetensors(std::span<const std::byte> file, std::string_view where) {
  return Parser(file, where).parse();
}

}  // namespace lockstep::runtime::checkpoint
