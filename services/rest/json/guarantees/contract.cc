#include "services/rest/json/guarantees/contract.h"

#include "services/control/codec/guarantee_json.h"
#include "services/rest/json/rate_value.h"

namespace railweave::api {

Result<scheduler::Contract> read_contract(const std::string& tenant, std::string_view body) {
  auto value = parse_json(body.empty() ? std::string_view("{}") : body);
  if (!value) return std::unexpected(value.error());
  scheduler::Contract terms;
  terms.tenant = tenant;
  ObjectReader reader(*value, "");
  std::optional<std::string> basis;
  std::optional<std::string> model;
  std::optional<std::string> isolation;
  terms.guaranteed = read_gbps(reader, "guaranteedGbps").value_or(RateMbps(0));
  if (value->is_object() && value->contains("maxGbps") && (*value)["maxGbps"].is_null()) {
    (void)reader.take("maxGbps");
  } else {
    terms.most = read_gbps(reader, "maxGbps");
  }
  reader.read("basis", basis);
  reader.read("model", model);
  reader.read("surviveLinkFailure", terms.survives_link_failure);
  reader.read("isolated", terms.isolated);
  reader.read("isolation", isolation);
  reader.read("classes", terms.classes, 15);
  reader.read("reservedPermille", terms.reserved_permille);
  reader.read("maxGpus", terms.max_gpus);
  reader.read("maxNvlinkDomains", terms.max_nvlink_domains);
  if (basis) {
    const auto parsed = parse_basis(*basis);
    if (!parsed) reader.set_error("basis", "there is no basis " + shown(*basis), "perPort or perJob");
    terms.basis = parsed.value_or(scheduler::RateBasis::per_port);
  }
  if (model) {
    const auto parsed = parse_promise(*model);
    if (!parsed) reader.set_error("model", "there is no model " + shown(*model), "hose or pattern");
    terms.promise = parsed.value_or(fabric::TrafficPromise::hose);
  }
  if (isolation) {
    const auto parsed = parse_enum<scheduler::Isolation>(*isolation);
    if (!parsed) reader.set_error("isolation", "there is no isolation " + shown(*isolation), "planned, class or lane");
    terms.isolation = parsed.value_or(scheduler::Isolation::planned);
  }
  if (terms.most && (terms.most->value() == 0 || *terms.most < terms.guaranteed)) {
    reader.set_error("maxGbps", "must be above 0 and at least what is guaranteed");
  }
  if (terms.reserved_permille < 1 || terms.reserved_permille > 1000) {
    reader.set_error("reservedPermille", "must be 1 to 1000");
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return terms;
}

std::string write_contract(const control::TenantContract& contract) {
  const auto& terms = contract.terms;
  return dump(Out{{"id", terms.tenant},
                  {"guaranteedGbps", gbps_of(terms.guaranteed)},
                  {"maxGbps", terms.most ? Out(gbps_of(*terms.most)) : Out(nullptr)},
                  {"basis", to_text(terms.basis)},
                  {"model", to_text(terms.promise)},
                  {"surviveLinkFailure", terms.survives_link_failure},
                  {"isolated", terms.isolated},
                  {"isolation", railweave::to_text(terms.isolation)},
                  {"classes", terms.classes},
                  {"reservedPermille", terms.reserved_permille},
                  {"maxGpus", terms.max_gpus ? Out(*terms.max_gpus) : Out(nullptr)},
                  {"maxNvlinkDomains", terms.max_nvlink_domains ? Out(*terms.max_nvlink_domains) : Out(nullptr)},
                  {"pkey", pkey_text(contract.pkey)},
                  {"version", contract.version}});
}

Result<fabric::QosClasses> read_qos_classes(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  ObjectReader reader(*value, "");
  reader.require("items");
  const Json* items = reader.take("items");
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return qos_classes_from_json(*items, "/items");
}

std::string write_qos_classes(const control::ClusterState& state) {
  return dump(Out{{"items", to_json(*state.qos_classes)}, {"version", state.qos_version}});
}

}  // namespace railweave::api
