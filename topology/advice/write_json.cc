#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "topology/advice/writers.h"

namespace lockstep::topology {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Advice& advice) {
  Json json = {{"variable", advice.variable},
               {"value", advice.value},
               {"reason", advice.reason},
               {"evidence", advice.evidence},
               {"confidence", to_string(advice.confidence)},
               {"kept", advice.kept}};
  if (advice.kept) {
    json["origin"] = advice.origin;
    json["standing"] = to_string(advice.standing);
    json["advised"] = advice.advised.empty() ? Json(nullptr) : Json(advice.advised);
  }
  return json;
}

Json json_of(std::span<const Finding> findings) {
  Json json = Json::array();
  for (const Finding& finding : findings) {
    json.push_back({{"severity", to_string(finding.severity)},
                    {"code", finding.code},
                    {"message", finding.message},
                    {"where", finding.where},
                    {"remedy", finding.remedy}});
  }
  return json;
}

Json json_of(const HostAdvice& host) {
  Json settings = Json::array(), rails = Json::array(), left_out = Json::array();
  Json unset = Json::array();
  for (const Advice& advice : host.settings) settings.push_back(json_of(advice));
  for (const GpuRail& rail : host.rails) {
    rails.push_back({{"gpu", fmt::format("GPU{}", rail.gpu)},
                     {"nic", fmt::format("NIC{}", rail.nic)},
                     {"device", rail.nic_device},
                     {"kind", to_string(rail.kind)}});
  }
  for (const LeftOut& left : host.left_out) {
    left_out.push_back({{"nic", fmt::format("NIC{}", left.nic)},
                        {"device", left.nic_device},
                        {"reason", left.reason}});
  }
  for (const Unset& one : host.unset) {
    unset.push_back({{"variable", one.variable}, {"reason", one.reason}});
  }
  return {{"name", host.host},
          {"nccl", host.nccl},
          {"settings", settings},
          {"rails", rails},
          {"left_out", left_out},
          {"unset", unset},
          {"findings", json_of(std::span<const Finding>(host.findings))}};
}

}  // namespace

std::string write_json(std::span<const HostAdvice> hosts, std::span<const Finding> of_all) {
  Json all = {{"version", 1}, {"hosts", Json::array()}};
  for (const HostAdvice& host : hosts) all["hosts"].push_back(json_of(host));
  all["findings"] = json_of(of_all);
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep::topology
