// What the description of an InfiniBand adapter says about whose it is.
//
// Descriptions are free text of up to 64 bytes that each host sets itself: "node07 mlx5_3"
// (rdma-ndd), "node07 HCA-4" (openibd), the product's name until the host has set one. Thread rule:
// pure functions.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::topology {

struct AdapterName {
  std::string host;    // empty where the description does not say, "localhost" included
  std::string device;  // "mlx5_3", "HCA-4"; empty where it does not say
};

[[nodiscard]] AdapterName parse_adapter_name(std::string_view description);

// Whether the description is that of the aggregation node inside a switch (SHARP).
[[nodiscard]] bool is_aggregation_node(std::string_view description);

// The same text for the names of one device: HCA-4 is mlx5_3, since HCAs are counted from 1.
[[nodiscard]] std::string same_device_name(std::string_view device);

}  // namespace lockstep::topology
