#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "topology/findings/evidence.h"
#include "topology/findings/rules.h"

namespace lockstep::topology::findings {
namespace {

// Whether devices are there that could talk to each other without the CPU.
bool has_peers(const Machine& machine) {
  return !machine.gpus.empty() &&
         machine.gpus.size() +
                 static_cast<std::size_t>(std::ranges::count_if(machine.nics, may_carry_rdma)) >
             1;
}

// Whether what was read shows access control to those who may see it.
bool could_tell(const Machine& machine) {
  return std::ranges::any_of(machine.sources, [](const std::string& source) {
    return source == "live" || source.starts_with("lspci");
  });
}

std::string bits_of(const AccessControl& control) {
  std::string bits = control.source_validation ? "SrcValid+ " : "";
  if (control.request_redirect) bits += "ReqRedir+ ";
  if (control.completion_redirect) bits += "CmpltRedir+ ";
  if (control.upstream_forwarding) bits += "UpstreamFwd+ ";
  if (!bits.empty()) bits.pop_back();
  return bits;
}

Finding redirect(const Machine& machine, DeviceId id, const AccessControl& control) {
  const bool guest = machine.system.virtual_machine.value_or(false);
  return {.severity = Severity::warning,
          .code = "acs-redirect",
          .message = fmt::format("Bridge {} sends peer-to-peer traffic up to the root complex "
                                 "({}): it is slow there, or hangs.",
                                 name_of(machine, id), bits_of(control)),
          .where = to_string(id),
          .remedy = guest ? "A guest cannot turn it off: enable ATS on the adapter, or ask whoever "
                            "runs the host."
                          : "Turn ACS off in the BIOS, or at every boot by `setpci -s ADDRESS "
                            "ECAP_ACS+0x6.w=0000` as root; NCCL_P2P_DISABLE=1 proves the cause."};
}

}  // namespace

std::vector<Finding> access_control(const Machine& machine) {
  if (!has_peers(machine)) return {};
  std::vector<Finding> found;
  std::vector<std::string> validating;
  bool is_told = false;
  for (std::size_t i = 0; i < machine.switches.size(); ++i) {
    const auto& control = machine.switches[i].access_control;
    if (!control) continue;
    is_told = true;
    const DeviceId id{DeviceKind::pcie_switch, static_cast<int>(i)};
    if (control->request_redirect || control->completion_redirect || control->upstream_forwarding) {
      found.push_back(redirect(machine, id, *control));
    } else if (control->source_validation) {
      found.push_back({.severity = Severity::info,
                       .code = "acs-source-validation",
                       .message = fmt::format("Bridge {} validates sources (SrcValid+) but does "
                                              "not redirect: a hint only if jobs hang.",
                                              name_of(machine, id)),
                       .where = to_string(id),
                       .remedy = "If NCCL hangs between GPUs below it, turn ACS off in the BIOS."});
    }
  }
  const bool is_said =
      std::ranges::count(machine.findings, "access-control-unknown", &Finding::code) > 0;
  if (!is_told && !is_said && could_tell(machine)) {
    found.push_back({.severity = Severity::info,
                     .code = "access-control-unknown",
                     .message = "Whether bridges redirect peer-to-peer traffic (ACS) cannot be "
                                "told: their capabilities are hidden from an ordinary user.",
                     .where = machine.name,
                     .remedy =
                         "Run `lspci -vvv` as root and look for ReqRedir+, or give its output "
                         "to `lockstep probe --from`."});
  }
  return found;
}

}  // namespace lockstep::topology::findings
