#include "topology/readers/smi_nvlink.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "topology/pci_address.h"
#include "topology/readers/lines.h"
#include "topology/readers/notes.h"

namespace lockstep::topology {
namespace {

constexpr int kMaxGpus = 256;
constexpr int kMaxPorts = 64;

// "GPU 3: Tesla V100-SXM2-32GB (UUID: GPU-...)"
struct GpuLine {
  int number = 0;
  std::string_view name, uuid;
};

std::optional<GpuLine> parse_gpu(std::string_view line) {
  const auto rest = after(trimmed(line), "GPU ");
  if (!rest) return std::nullopt;
  const std::size_t colon = rest->find(':');
  const auto number = parse_number<int>(rest->substr(0, colon));
  if (colon == std::string_view::npos || !number) return std::nullopt;
  GpuLine gpu{.number = *number, .name = trimmed(rest->substr(colon + 1))};
  const std::size_t uuid = gpu.name.rfind("(UUID:");
  if (uuid != std::string_view::npos) {
    const std::string_view text = gpu.name.substr(uuid + 6);
    gpu.uuid = trimmed(text.substr(0, text.find(')')));
    gpu.name = trimmed(gpu.name.substr(0, uuid));
  }
  return gpu;
}

// "Link 0: 25.781 GB/s", "Link 3: <inactive>", "Link 0: Remote Device 00000000:07:00.0: Link 46"
struct PortLine {
  int number = 0;
  std::string_view says;
};

std::optional<PortLine> parse_port(std::string_view line) {
  const auto rest = after(trimmed(line), "Link ");
  if (!rest) return std::nullopt;
  const std::size_t colon = rest->find(':');
  const auto number = parse_number<int>(rest->substr(0, colon));
  if (colon == std::string_view::npos || !number) return std::nullopt;
  return PortLine{.number = *number, .says = trimmed(rest->substr(colon + 1))};
}

bool all_inactive(std::string_view line) {
  return line.find("all links are in") != std::string_view::npos;
}

// "00000000:07:00.0: Link 46"; the port's number has no place in a Machine.
std::optional<PciAddress> remote_address(std::string_view text) {
  const std::size_t end = text.find(": ");
  return parse_pci_address(trimmed(text.substr(0, end)));
}

class NvlinkReader {
 public:
  NvlinkReader(const Recording& recording, Notes& notes) : file_(recording.name), notes_(notes) {}

  void take(std::string_view line, int number) {
    if (const auto gpu = parse_gpu(line)) {
      begin(*gpu, number);
    } else if (const auto port = parse_port(line)) {
      add(*port, number);
    } else if (all_inactive(line)) {
      notes_.add({.severity = Severity::info,
                  .code = "nvlink-all-inactive",
                  .message = fmt::format("nvidia-smi says that all NVLinks of {} are inactive",
                                         gpu_ ? fmt::format("GPU{}", *gpu_) : "a GPU")},
                 number);
    }
  }

  std::vector<Gpu> finish() {
    std::string missing;
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      if (!shown_[i]) missing += fmt::format("{}GPU{}", missing.empty() ? "" : ", ", i);
    }
    if (!missing.empty()) {
      notes_.add({.severity = Severity::info,
                  .code = "gpus-not-shown",
                  .message = fmt::format("the recording says nothing of {}", missing)});
    }
    return std::move(gpus_);
  }

 private:
  void begin(const GpuLine& line, int number) {
    if (line.number < 0 || line.number >= kMaxGpus) {
      throw ReadError(file_, number,
                      fmt::format("a GPU's number below {} was expected, found {}; is this what "
                                  "`nvidia-smi nvlink` printed?",
                                  kMaxGpus, line.number));
    }
    gpu_ = static_cast<std::size_t>(line.number);
    gpus_.resize(std::max(gpus_.size(), *gpu_ + 1));
    shown_.resize(gpus_.size());
    shown_[*gpu_] = true;
    gpus_[*gpu_].name = line.name;
    // Recordings that were made public have "..." for it.
    gpus_[*gpu_].uuid = line.uuid.starts_with("GPU-") ? std::string(line.uuid) : std::string();
  }

  void add(const PortLine& line, int number) {
    if (line.number < 0 || line.number >= kMaxPorts) {
      throw ReadError(file_, number,
                      fmt::format("a link's number below {} was expected, found {}; is this what "
                                  "`nvidia-smi nvlink` printed?",
                                  kMaxPorts, line.number));
    }
    if (!gpu_) {
      damaged(line, "no line above it says of which GPU", number);
      return;
    }
    NvlinkPort port{.number = line.number};
    if (const auto remote = after(line.says, "Remote Device ")) {
      port.remote = remote_address(*remote);
      port.active = port.remote.has_value();
      if (!port.remote && remote->find("inactive") == std::string_view::npos) {
        damaged(line, "the device at its other end has no PCI address", number);
        port.active = true;
      }
    } else if (line.says.ends_with(" GB/s")) {
      port.GBps = parse_number<double>(line.says.substr(0, line.says.size() - 5));
      port.active = port.GBps.has_value() && *port.GBps > 0;
      if (!port.GBps) {
        damaged(line, "its speed is no number", number);
        return;
      }
    } else if (line.says.find("nactive") == std::string_view::npos) {
      damaged(line, "a speed, <inactive> or a remote device was expected", number);
      return;
    }
    merge(port);
  }

  // -s and -R know different things of one port.
  void merge(const NvlinkPort& port) {
    std::vector<NvlinkPort>& ports = gpus_[*gpu_].nvlinks;
    const auto place = std::ranges::lower_bound(ports, port.number, {}, &NvlinkPort::number);
    if (place == ports.end() || place->number != port.number) {
      ports.insert(place, port);
      return;
    }
    place->active = place->active && port.active;
    if (port.GBps) place->GBps = port.GBps;
    if (port.remote) place->remote = port.remote;
  }

  void damaged(const PortLine& line, std::string_view why, int number) {
    notes_.add({.severity = Severity::warning,
                .code = "nvlink-port-refused",
                .message = fmt::format("link {} of {} is not understood: {} (\"{}\")", line.number,
                                       gpu_ ? fmt::format("GPU{}", *gpu_) : "a GPU", why,
                                       line.says.substr(0, 60)),
                .remedy = "record `nvidia-smi nvlink` again"},
               number);
  }

  std::string_view file_;
  Notes& notes_;
  std::vector<Gpu> gpus_;
  std::vector<bool> shown_;
  std::optional<std::size_t> gpu_;  // whose lines follow
};

}  // namespace

bool is_smi_nvlink(std::string_view text) {
  bool gpu = false;
  for (Lines lines(text); lines.next();) {
    const std::string_view line = lines.text();
    gpu = gpu || parse_gpu(line);
    if (gpu && (parse_port(line) || all_inactive(line))) return true;
  }
  return false;
}

Reading read_smi_nvlink(const Recording& recording) {
  Notes notes(recording.name);
  NvlinkReader reader(recording, notes);
  for (Lines lines(recording.text); lines.next();) reader.take(lines.text(), lines.number());
  Reading reading;
  reading.machine.sources = {"nvidia-smi-nvlink"};
  reading.machine.gpus = reader.finish();
  reading.machine.findings = notes.take();
  return reading;
}

}  // namespace lockstep::topology
