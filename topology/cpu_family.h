// A processor's family in NCCL's count.
//
// /proc/cpuinfo and hwloc give the family as vendors write it, base + extended (AMD Rome: 23). NCCL
// counts base + (extended << 4) (Rome: 143), and extended is only there when base is 15. The model
// is base + (extended << 4) for both. Source: the CPUID reference, NCCL 2.28 graph/xml.cc.
// Thread rule: a pure function.
#pragma once

namespace lockstep::topology {

[[nodiscard]] constexpr int nccl_family(int family) {
  return family <= 15 ? family : 15 + ((family - 15) << 4);
}

static_assert(nccl_family(6) == 6 && nccl_family(23) == 143 && nccl_family(25) == 175);

}  // namespace lockstep::topology
