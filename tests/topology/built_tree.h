// A folder that a test fills with the files of a host, removed at its end.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep::topology::test {

class BuiltTree {
 public:
  BuiltTree();
  ~BuiltTree();
  BuiltTree(const BuiltTree&) = delete;
  BuiltTree& operator=(const BuiltTree&) = delete;

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

  // Paths begin with '/' and lie within the tree; folders above are made.
  BuiltTree& file(std::string_view path, std::string_view content);
  BuiltTree& folder(std::string_view path);
  // `target` is a path in the tree; the link is relative, as those of /sys are.
  BuiltTree& link(std::string_view path, std::string_view target);

 private:
  [[nodiscard]] std::filesystem::path inside(std::string_view path) const;

  std::filesystem::path root_;
};

struct BuiltFunction {
  std::string_view parent;   // "/sys/devices/pci0000:00" or a function's path
  std::string_view address;  // "0000:03:00.0"
  std::string_view class_code, vendor, device;
  int numa = 0;
};

// Adds a PCI function with a link of 16 GT/s x16 and returns its path below /sys/devices.
std::string add_function(BuiltTree& tree, const BuiltFunction& function);

// A server with two sockets of two CPUs, a node of memory only, one GPU and one InfiniBand adapter
// (with a virtual function) below one PCIe switch of node 0, and an Ethernet adapter in PCI domain
// 10000 of node 1.
void build_server(BuiltTree& tree);

}  // namespace lockstep::topology::test
