#include "services/control/decide_contracts.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace railweave::control {
namespace {

std::unexpected<Rejection> refuse(ErrorKind kind, std::string code, std::string message, std::string hint = {}) {
  return std::unexpected(Rejection{{kind, std::move(code), std::move(message), {}, std::move(hint)}, nullptr});
}

std::unexpected<Rejection> refuse_version(const std::string& what, std::uint64_t asked, std::uint64_t present) {
  return refuse(ErrorKind::precondition, "precondition.versionDiffers",
                what + " changed: the version is " + std::to_string(present) + ", not " + std::to_string(asked),
                "read it again, then repeat the change");
}

bool same_classes(const fabric::QosClasses& a, const fabric::QosClasses& b) {
  return std::ranges::equal(a, b, [](const fabric::QosClass& x, const fabric::QosClass& y) {
    return x.name == y.name && x.share_permille == y.share_permille && x.priority == y.priority && x.bound == y.bound &&
           x.lossless == y.lossless && x.dscp == y.dscp;
  });
}

bool has_class(const fabric::QosClasses& classes, const std::string& name) {
  return std::ranges::any_of(classes, [&](const auto& one) { return one.name == name; });
}

}  // namespace

std::expected<Decision, Rejection> decide_contract(const ClusterState& state, const PutContract& command,
                                                   PlacerCache& placers) {
  const std::string& tenant = command.terms.tenant;
  const auto present = state.contracts->find(tenant);
  const std::uint64_t version = present == state.contracts->end() ? 0 : present->second.version;
  if (command.if_version && *command.if_version != version) {
    return refuse_version("the contract", *command.if_version, version);
  }
  if (const auto checked = scheduler::check_contract(command.terms); !checked) {
    return std::unexpected(Rejection{checked.error(), nullptr});
  }
  if (!state.tenants->contains(tenant)) {
    return refuse(ErrorKind::notFound, "tenants.notFound", "there is no tenant '" + tenant + "'",
                  "create it first: PUT /v1/tenants/" + tenant);
  }
  for (const auto& name : command.terms.classes) {
    if (has_class(*state.qos_classes, name)) continue;
    return refuse(ErrorKind::impossible, "contracts.unknownClass", "there is no class '" + name + "'",
                  "GET /v1/qos-classes lists them");
  }
  if (version != 0 && present->second.terms == command.terms) return Decision{};
  const std::uint16_t pkey = version != 0 ? present->second.pkey : free_pkey(*state.contracts);
  if (pkey == 0) {
    return refuse(ErrorKind::conflict, "contracts.noKeys", "all partition keys are taken by other contracts",
                  "remove contracts that nobody uses");
  }
  (void)placers;
  return Decision{{ContractPut{command.terms, pkey}}, {}, false};
}

std::expected<Decision, Rejection> decide_contract(const ClusterState& state, const RemoveContract& command) {
  const auto present = state.contracts->find(command.tenant);
  if (present == state.contracts->end()) {
    return refuse(ErrorKind::notFound, "contracts.notFound", "tenant '" + command.tenant + "' has no contract",
                  "GET /v1/contracts lists them");
  }
  if (command.if_version && *command.if_version != present->second.version) {
    return refuse_version("the contract", *command.if_version, present->second.version);
  }
  std::string jobs;
  for (const JobId id : *state.guaranteed) {
    if (state.jobs.find(id)->spec.tenant == command.tenant) jobs += (jobs.empty() ? "" : ", ") + to_string(id);
  }
  if (!jobs.empty()) {
    return refuse(ErrorKind::conflict, "contracts.inUse", "guarantees of present jobs rest on the contract: " + jobs,
                  "end these jobs first, or put the contract with guaranteedGbps 0");
  }
  return Decision{{ContractRemoved{command.tenant}}, {}, false};
}

std::expected<Decision, Rejection> decide_contract(const ClusterState& state, const PutQosClasses& command,
                                                   PlacerCache& placers) {
  if (command.if_version && *command.if_version != state.qos_version) {
    return refuse_version("the list of classes", *command.if_version, state.qos_version);
  }
  if (const auto checked = fabric::check_qos_classes(command.classes); !checked) {
    return std::unexpected(Rejection{checked.error(), nullptr});
  }
  if (same_classes(command.classes, *state.qos_classes)) return Decision{};
  for (const auto& [tenant, contract] : *state.contracts) {
    for (const auto& name : contract.terms.classes) {
      if (has_class(command.classes, name)) continue;
      return refuse(ErrorKind::conflict, "qosClasses.inUse",
                    "the contract of " + tenant + " names class " + name + ", which would be gone",
                    "change the contract first");
    }
  }
  (void)placers;
  return Decision{{QosClassesPut{command.classes}}, {}, false};
}

}  // namespace railweave::control
