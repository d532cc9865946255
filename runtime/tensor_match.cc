#include "runtime/tensor_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "runtime/nearest.h"

namespace lockstep::runtime {
namespace {

using checkpoint::TensorView;
using ByName = std::map<std::string_view, const TensorView*>;

ByName by_name(std::span<const TensorView> tensors) {
  ByName names;
  for (const TensorView& tensor : tensors) names.emplace(tensor.name, &tensor);
  return names;
}

std::string shape_text(const TensorView& tensor) {
  return checkpoint::text_of(tensor.dtype, tensor.shape);
}

}  // namespace

std::vector<std::string> differences(std::span<const TensorView> wanted,
                                     std::span<const TensorView> found) {
  const ByName there = by_name(found);
  const ByName asked = by_name(wanted);
  std::vector<std::string_view> over;
  for (const auto& [name, tensor] : there) {
    if (!asked.contains(name)) over.push_back(name);
  }
  std::vector<std::string> sentences;
  for (const TensorView& tensor : wanted) {
    auto it = there.find(tensor.name);
    if (it == there.end()) {
      const auto near = nearest(tensor.name, over);
      sentences.push_back(fmt::format("\"{}\" is missing{}", tensor.name,
                                      near ? fmt::format(" (the file has \"{}\")", *near) : ""));
    } else if (it->second->dtype != tensor.dtype || it->second->shape != tensor.shape) {
      sentences.push_back(fmt::format("\"{}\" is {}, the model's is {}", tensor.name,
                                      shape_text(*it->second), shape_text(tensor)));
    }
  }
  for (std::string_view name : over) {
    sentences.push_back(fmt::format("\"{}\" is not in the model", name));
  }
  return sentences;
}

std::string listed(const std::vector<std::string>& sentences) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, sentences.size()); ++i) {
    text += fmt::format("\n  {}", sentences[i]);
  }
  if (sentences.size() > kMost) text += fmt::format("\n  and {} more", sentences.size() - kMost);
  return text;
}

}  // namespace lockstep::runtime
