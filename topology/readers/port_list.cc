#include "topology/readers/port_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "topology/natural_order.h"
#include "topology/readers/lines.h"
#include "topology/readers/port_words.h"

namespace lockstep::topology {
namespace {

constexpr int kMaxPortNumber = 254;

}  // namespace

bool add_gid(Nic& port, Gid gid) {
  if (gid.index < 0 || gid.index > kMaxGidIndex || port.gids.size() > kMaxGidIndex) return false;
  port.gids.push_back(std::move(gid));
  return true;
}

bool PortList::NaturalOrder::operator()(const Key& a, const Key& b) const {
  if (a.first != b.first) return natural_less(a.first, b.first);
  return a.second < b.second;
}

Nic& PortList::at(const Nic& device, int port) {
  Key key(device.name, port);
  const auto found = ports_.find(key);
  if (found != ports_.end()) return found->second;
  Nic made = device;
  if (port > 0) made.port = port;
  if (ports_.size() == kMaxPorts) {
    ++left_out_count_;
    return left_out_ = std::move(made);
  }
  return ports_.emplace(std::move(key), std::move(made)).first->second;
}

bool PortList::contains(std::string_view device, int port) const {
  return ports_.contains(Key(device, port));
}

std::vector<Nic> PortList::take(Notes& notes) {
  if (left_out_count_ > 0) {
    notes.add(
        {.severity = Severity::error,
         .code = "damaged-recording",
         .message = fmt::format("more than {} ports are named; the rest is left out", kMaxPorts),
         .where = "",
         .remedy = "record it again; no host has as many"});
  }
  std::vector<Nic> all;
  all.reserve(ports_.size());
  for (auto& [key, port] : ports_) all.push_back(std::move(port));
  ports_.clear();
  left_out_count_ = 0;
  return all;
}

void DeviceWalk::begin_device(std::string_view name, int line) {
  end_device();
  device_ = {};
  device_.name = name;
  line_ = line;
  announced_ = 0;
  seen_ = 0;
  in_device_ = true;
  port_ = nullptr;
}

void DeviceWalk::announce(std::string_view ports) {
  announced_ = std::clamp(parse_number<int>(ports).value_or(0), 0, kMaxPortNumber);
}

void DeviceWalk::begin_port(std::string_view number, int line) {
  const auto port = parse_number<int>(number);
  if (!port || *port < 1 || *port > kMaxPortNumber) {
    notes_.add({.severity = Severity::warning,
                .code = "damaged-recording",
                .message = fmt::format("{}: \"{}\" is no port number; the port is left out",
                                       device_.name, plain(number)),
                .where = "",
                .remedy = "record it again"},
               line);
    port_ = &(repeated_ = {});
    return;
  }
  ++seen_;
  if (ports_.contains(device_.name, *port)) {
    notes_.add({.severity = Severity::info,
                .code = "stated-twice",
                .message = fmt::format("{} port {} is described again; the first description holds",
                                       device_.name, *port),
                .where = "",
                .remedy = ""},
               line);
    repeated_ = {};
    port_ = &repeated_;
    return;
  }
  port_ = &ports_.at(device_, *port);
}

Nic& DeviceWalk::current() {
  return port_ != nullptr ? *port_ : device_;
}

std::vector<Nic> DeviceWalk::take() {
  end_device();
  return ports_.take(notes_);
}

void DeviceWalk::end_device() {
  if (!in_device_) return;
  in_device_ = false;
  if (seen_ < announced_) {
    notes_.add({.severity = Severity::warning,
                .code = "incomplete-recording",
                .message = fmt::format("{} has {} ports, of which the recording describes {}",
                                       device_.name, announced_, seen_),
                .where = "",
                .remedy = "record it again, to its end"},
               line_);
  }
  if (seen_ == 0) (void)ports_.at(device_, 0);
}

}  // namespace lockstep::topology
