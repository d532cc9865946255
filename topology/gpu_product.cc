#include "topology/gpu_product.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lockstep::topology {

std::optional<int> compute_capability_of(std::string_view product) {
  constexpr std::array<std::pair<std::string_view, int>, 14> kProducts{{{"P100", 60},
                                                                        {"V100", 70},
                                                                        {"A100", 80},
                                                                        {"A800", 80},
                                                                        {"H100", 90},
                                                                        {"H200", 90},
                                                                        {"H800", 90},
                                                                        {"H20", 90},
                                                                        {"GH200", 90},
                                                                        {"B200", 100},
                                                                        {"GB200", 100},
                                                                        {"B300", 103},
                                                                        {"GB300", 103},
                                                                        {"GB10", 121}}};
  while (!product.empty()) {
    const std::size_t end = product.find_first_of(" -_");
    const auto* const found = std::ranges::find(kProducts, product.substr(0, end),
                                                &std::pair<std::string_view, int>::first);
    if (found != kProducts.end()) return found->second;
    product.remove_prefix(end == std::string_view::npos ? product.size() : end + 1);
  }
  return std::nullopt;
}

}  // namespace lockstep::topology
