#include "topology/advice/nics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "topology/advice/name_list.h"
#include "topology/bond.h"
#include "topology/letters.h"
#include "topology/natural_order.h"
#include "topology/rdma_name.h"

namespace lockstep::topology {
namespace {

PathKind kind_between(const PathTable& paths, int gpu, int nic) {
  return paths.between({DeviceKind::gpu, gpu}, {DeviceKind::nic, nic}).kind;
}

// The candidates that are left, and the reasons of those that are not.
class Sieve {
 public:
  Sieve(const Machine& machine, const PathTable& paths, const std::vector<int>& gpus)
      : machine_(machine), paths_(paths), gpus_(gpus) {
    for (int i = 0; i < static_cast<int>(machine.nics.size()); ++i) {
      if (rdma_layer(nic(i))) candidates_.push_back(i);
    }
  }

  NicChoice run() {
    drop_down();
    drop_bonds();
    drop_other_layer();
    drop_slow();
    drop_far();
    std::sort(candidates_.begin(), candidates_.end(),
              [&](int a, int b) { return natural_less(nic(a).name, nic(b).name); });
    std::sort(left_out_.begin(), left_out_.end(),
              [](const LeftOut& a, const LeftOut& b) { return a.nic < b.nic; });
    return {candidates_, left_out_};
  }

 private:
  const Nic& nic(int i) const { return machine_.nics[static_cast<std::size_t>(i)]; }

  // `reason` gives the text for a port to be left out, the empty text for one to be kept.
  template <typename Reason>
  void drop(Reason reason, bool down = false) {
    std::vector<int> kept;
    for (const int i : candidates_) {
      std::string why = reason(i);
      if (why.empty()) {
        kept.push_back(i);
      } else {
        left_out_.push_back({i, nic(i).name, down, std::move(why)});
      }
    }
    candidates_ = std::move(kept);
  }

  // The job's GPUs near one of the candidates that `counts`.
  template <typename Counts>
  int gpus_served(Counts counts) const {
    return static_cast<int>(std::count_if(gpus_.begin(), gpus_.end(), [&](int gpu) {
      return std::any_of(candidates_.begin(), candidates_.end(),
                         [&](int i) { return counts(i) && is_near(kind_between(paths_, gpu, i)); });
    }));
  }

  void drop_down() {
    drop(
        [&](int i) {
          if (nic(i).state != NicState::down) return std::string();
          return nic(i).physical_state.empty()
                     ? std::string("the port is down")
                     : fmt::format("the port is down ({})", nic(i).physical_state);
        },
        true);
  }

  void drop_bonds() {
    const auto single = [&](int i) { return bond_of(machine_, nic(i)).empty(); };
    if (std::none_of(candidates_.begin(), candidates_.end(), single)) return;
    const auto has_single = [&](int gpu) {
      return std::any_of(candidates_.begin(), candidates_.end(),
                         [&](int i) { return single(i) && is_near(kind_between(paths_, gpu, i)); });
    };
    drop([&](int i) {
      const bool is_only_one = std::any_of(gpus_.begin(), gpus_.end(), [&](int gpu) {
        return is_near(kind_between(paths_, gpu, i)) && !has_single(gpu);
      });
      if (single(i) || is_only_one) return std::string();
      const std::string bond = bond_of(machine_, nic(i));
      return bond == nic(i).name
                 ? fmt::format("{} is itself a bond: a front-end network, not a rail", bond)
                 : fmt::format("carries the bond {}: a front-end network, not a rail", bond);
    });
  }

  void drop_other_layer() {
    const auto is = [&](NicKind layer) {
      return [this, layer](int i) { return rdma_layer(nic(i)) == layer; };
    };
    const auto infiniband = is(NicKind::infiniband), roce = is(NicKind::roce);
    if (std::none_of(candidates_.begin(), candidates_.end(), infiniband)) return;
    if (std::none_of(candidates_.begin(), candidates_.end(), roce)) return;
    const auto rate = [&](const auto& counts) {
      double sum = 0;
      for (const int i : candidates_) sum += counts(i) ? nic(i).rate_Gbps.value_or(0) : 0;
      return sum;
    };
    const int near_ib = gpus_served(infiniband), near_roce = gpus_served(roce);
    const bool keep_ib =
        near_ib != near_roce ? near_ib > near_roce : rate(infiniband) >= rate(roce);
    drop([&](int i) {
      if (keep_ib ? !roce(i) : !infiniband(i)) return std::string();
      const std::string speed =
          nic(i).rate_Gbps ? fmt::format("{:g}G ", *nic(i).rate_Gbps) : std::string();
      return keep_ib ? fmt::format("{}Ethernet among InfiniBand rails", speed)
                     : fmt::format("{}InfiniBand among RoCE rails", speed);
    });
  }

  void drop_slow() {
    double fastest = 0;
    for (const int i : candidates_) fastest = std::max(fastest, nic(i).rate_Gbps.value_or(0));
    drop([&](int i) {
      const auto rate = nic(i).rate_Gbps;
      if (!rate || *rate * 2 > fastest) return std::string();
      return fmt::format("{:g} Gb/s beside rails of {:g} Gb/s: a storage or front-end port", *rate,
                         fastest);
    });
  }

  void drop_far() {
    const auto any = [](int) { return true; };
    const int served = gpus_served(any);
    if (served == 0) return;
    const bool all_served = served == static_cast<int>(gpus_.size());
    const auto far = std::count_if(candidates_.begin(), candidates_.end(),
                                   [&](int i) { return nearest_gpu(i) < 0; });
    const bool others_are_elsewhere = far > static_cast<std::ptrdiff_t>(candidates_.size()) - far;
    drop([&](int i) {
      const auto near_job = std::any_of(gpus_.begin(), gpus_.end(), [&](int gpu) {
        return is_near(kind_between(paths_, gpu, i));
      });
      if (near_job) return std::string();
      if (const int gpu = nearest_gpu(i); gpu >= 0) {
        return fmt::format("nearest to GPU{}, which this job does not use", gpu);
      }
      if (!all_served) return std::string();
      const bool is_known = std::any_of(gpus_.begin(), gpus_.end(), [&](int gpu) {
        return kind_between(paths_, gpu, i) != PathKind::unknown;
      });
      if (!is_known) return std::string("at no known distance, and each GPU has a near port");
      const auto path = paths_.between({DeviceKind::gpu, gpus_.front()}, {DeviceKind::nic, i});
      return fmt::format("{} from GPU{} and near no GPU here: {}",
                         path.label.empty() ? to_string(path.kind) : path.label, gpus_.front(),
                         others_are_elsewhere ? "it belongs to GPUs that are not here"
                                              : "a storage or front-end port");
    });
  }

  // Any GPU of the machine that the port is near, or -1.
  int nearest_gpu(int i) const {
    for (int gpu = 0; gpu < static_cast<int>(machine_.gpus.size()); ++gpu) {
      if (is_near(kind_between(paths_, gpu, i))) return gpu;
    }
    return -1;
  }

  const Machine& machine_;
  const PathTable& paths_;
  const std::vector<int>& gpus_;
  std::vector<int> candidates_;
  std::vector<LeftOut> left_out_;
};

}  // namespace

bool is_named(const Nic& nic) {
  if (!nic.name.starts_with("NIC")) return !nic.name.empty();
  return !std::all_of(nic.name.begin() + 3, nic.name.end(), is_digit);
}

std::string shown_name(const Machine& machine, int nic) {
  const std::string& name = machine.nics[static_cast<std::size_t>(nic)].name;
  return name.empty() ? fmt::format("NIC{}", nic) : name;
}

std::optional<NicKind> rdma_layer(const Nic& nic) {
  switch (nic.kind) {
    case NicKind::infiniband:
    case NicKind::roce:
      return nic.kind;
    case NicKind::efa:
      return std::nullopt;
    case NicKind::ethernet:
      return is_rdma_name(nic.name) ? std::optional(NicKind::roce) : std::nullopt;
    case NicKind::unknown:
    case NicKind::other:
      break;
  }
  // nvidia-smi lists RDMA devices only, so that a NIC without a name is one.
  if (is_rdma_name(nic.name) || !is_named(nic)) return NicKind::unknown;
  return std::nullopt;
}

bool is_near(PathKind kind) {
  return kind <= PathKind::P2C;
}

NicChoice choose_nics(const Machine& machine, const PathTable& paths,
                      const std::vector<int>& gpus) {
  return Sieve(machine, paths, gpus).run();
}

}  // namespace lockstep::topology
