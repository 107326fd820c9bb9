#include "services/control/codec/guarantee_json.h"

#include <utility>

namespace railweave::api {
namespace {

using control::GuaranteeChange;
using control::JobGuarantee;
using fabric::TrafficPromise;
using scheduler::RateBasis;

constexpr std::size_t kMaxClasses = 15;

std::int64_t signed_of(std::uint64_t value) { return static_cast<std::int64_t>(value); }

RateMbps read_rate(ObjectReader& reader, std::string_view field) {
  std::uint64_t mbps = 0;
  reader.read(field, mbps);
  return RateMbps(signed_of(mbps));
}

TrafficPromise read_promise(ObjectReader& reader, std::string_view field) {
  std::string text;
  reader.read(field, text);
  const auto promise = parse_promise(text);
  if (!promise) reader.set_error(field, shown(text) + " is neither hose nor pattern");
  return promise.value_or(TrafficPromise::hose);
}

std::optional<GuaranteeChange> change_of(std::string_view kind) {
  for (const auto change :
       {GuaranteeChange::at_risk, GuaranteeChange::restored, GuaranteeChange::covered, GuaranteeChange::amended}) {
    if (kind == "guarantee." + std::string(to_string(change))) return change;
  }
  return std::nullopt;
}

Result<control::EventBody> read_changed(GuaranteeChange change, const Json& data) {
  control::GuaranteeChanged body;
  body.change = change;
  ObjectReader reader(data, "/data");
  std::uint64_t number = 0;
  std::uint64_t for_us = 0;
  reader.read("number", number);
  reader.read("tenant", body.tenant);
  reader.read("forUs", for_us);
  const Json* guarantee = reader.take("guarantee");
  (void)reader.take("job");  // the same as the number, for people
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  body.job = control::JobId(number);
  body.for_us = signed_of(for_us);
  if (guarantee != nullptr && !guarantee->is_null()) {
    auto read = guarantee_from_json(*guarantee, "/data/guarantee");
    if (!read) return std::unexpected(read.error());
    body.guarantee = std::move(*read);
  }
  return body;
}

}  // namespace

std::string_view to_text(TrafficPromise promise) { return promise == TrafficPromise::hose ? "hose" : "pattern"; }

std::optional<TrafficPromise> parse_promise(std::string_view text) {
  if (text == "hose") return TrafficPromise::hose;
  if (text == "pattern") return TrafficPromise::pattern;
  return std::nullopt;
}

std::string_view to_text(RateBasis basis) { return basis == RateBasis::per_port ? "perPort" : "perJob"; }

std::optional<RateBasis> parse_basis(std::string_view text) {
  if (text == "perPort") return RateBasis::per_port;
  if (text == "perJob") return RateBasis::per_job;
  return std::nullopt;
}

Out to_json(const scheduler::Contract& terms) {
  Out value{{"tenant", terms.tenant},
            {"guaranteedMbps", terms.guaranteed.value()},
            {"basis", to_text(terms.basis)},
            {"model", to_text(terms.promise)},
            {"surviveLinkFailure", terms.survives_link_failure},
            {"classes", terms.classes},
            {"reservedPermille", terms.reserved_permille}};
  if (terms.most) value["maxMbps"] = terms.most->value();
  if (terms.max_gpus) value["maxGpus"] = *terms.max_gpus;
  if (terms.max_nvlink_domains) value["maxNvlinkDomains"] = *terms.max_nvlink_domains;
  return value;
}

Result<scheduler::Contract> contract_from_json(const Json& value) {
  scheduler::Contract terms;
  ObjectReader reader(value, "");
  std::string basis;
  std::optional<std::uint64_t> most;
  reader.read("tenant", terms.tenant);
  terms.guaranteed = read_rate(reader, "guaranteedMbps");
  reader.read("maxMbps", most);
  reader.read("basis", basis);
  terms.promise = read_promise(reader, "model");
  reader.read("surviveLinkFailure", terms.survives_link_failure);
  reader.read("classes", terms.classes, kMaxClasses);
  reader.read("reservedPermille", terms.reserved_permille);
  reader.read("maxGpus", terms.max_gpus);
  reader.read("maxNvlinkDomains", terms.max_nvlink_domains);
  if (most) terms.most = RateMbps(signed_of(*most));
  if (const auto parsed = parse_basis(basis)) {
    terms.basis = *parsed;
  } else {
    reader.set_error("basis", shown(basis) + " is neither perPort nor perJob");
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return terms;
}

Out to_json(const fabric::QosClasses& classes) {
  Out list = Out::array();
  for (const auto& one : classes) {
    list.push_back({{"name", one.name},
                    {"sharePermille", one.share_permille},
                    {"priority", one.priority},
                    {"bound", one.bound == fabric::ClassBound::latency ? "latency" : "bandwidth"},
                    {"lossless", one.lossless},
                    {"dscp", one.dscp}});
  }
  return list;
}

Result<fabric::QosClasses> qos_classes_from_json(const Json& value, const std::string& pointer) {
  if (!value.is_array() || value.size() > kMaxClasses) {
    return fail(ErrorKind::invalid, "body.invalidField", "a list of at most 15 classes is wanted", pointer);
  }
  fabric::QosClasses classes;
  for (std::size_t i = 0; i < value.size(); ++i) {
    ObjectReader reader(value[i], pointer + "/" + std::to_string(i));
    fabric::QosClass one;
    std::uint64_t priority = i;
    std::uint64_t dscp = 0;
    std::string bound = "bandwidth";
    reader.require("name");
    reader.read("name", one.name);
    reader.require("sharePermille");
    reader.read("sharePermille", one.share_permille);
    reader.read("priority", priority, 255);
    reader.read("bound", bound);
    reader.read("lossless", one.lossless);
    reader.require("dscp");
    reader.read("dscp", dscp, 63);
    if (bound != "latency" && bound != "bandwidth") {
      reader.set_error("bound", shown(bound) + " is neither latency nor bandwidth");
    }
    if (auto done = reader.finish(); !done) return std::unexpected(done.error());
    one.priority = static_cast<std::uint8_t>(priority);
    one.dscp = static_cast<std::uint8_t>(dscp);
    one.bound = bound == "latency" ? fabric::ClassBound::latency : fabric::ClassBound::bandwidth;
    classes.push_back(std::move(one));
  }
  return classes;
}

Out to_json(const JobGuarantee& guarantee) {
  Out value{{"class", guarantee.qos_class},
            {"model", to_text(guarantee.promise)},
            {"rateMbps", guarantee.rate.value()},
            {"maxMbps", guarantee.most.value()},
            {"reservedPermille", guarantee.reserved_permille},
            {"surviveLinkFailure", guarantee.survives_link_failure},
            {"admittedSeq", guarantee.admitted_seq},
            {"atRiskSinceUs", guarantee.at_risk_since_us},
            {"atRiskTotalUs", guarantee.at_risk_total_us}};
  if (guarantee.covered) {
    value["coveredOn"] = {{"down", guarantee.basis.down_links},
                          {"drainedLinks", guarantee.basis.drained_links},
                          {"drainedSwitches", guarantee.basis.drained_switches}};
  }
  if (!guarantee.reason.empty()) value["reason"] = guarantee.reason;
  if (!guarantee.links.empty()) value["links"] = guarantee.links;
  return value;
}

Result<JobGuarantee> guarantee_from_json(const Json& value, const std::string& pointer) {
  JobGuarantee guarantee;
  ObjectReader reader(value, pointer);
  std::uint64_t since_us = 0;
  std::uint64_t total_us = 0;
  reader.read("class", guarantee.qos_class);
  guarantee.promise = read_promise(reader, "model");
  guarantee.rate = read_rate(reader, "rateMbps");
  guarantee.most = read_rate(reader, "maxMbps");
  reader.read("reservedPermille", guarantee.reserved_permille);
  reader.read("surviveLinkFailure", guarantee.survives_link_failure);
  reader.read("admittedSeq", guarantee.admitted_seq);
  reader.read("atRiskSinceUs", since_us);
  reader.read("atRiskTotalUs", total_us);
  reader.read("reason", guarantee.reason);
  reader.read("links", guarantee.links, JobGuarantee::kMaxLinks);
  const Json* covered = reader.take("coveredOn");
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  guarantee.at_risk_since_us = signed_of(since_us);
  guarantee.at_risk_total_us = signed_of(total_us);
  if (covered != nullptr) {
    guarantee.covered = true;
    ObjectReader basis(*covered, pointer + "/coveredOn");
    basis.read("down", guarantee.basis.down_links, SIZE_MAX);
    basis.read("drainedLinks", guarantee.basis.drained_links, SIZE_MAX);
    basis.read("drainedSwitches", guarantee.basis.drained_switches, SIZE_MAX);
    if (auto done = basis.finish(); !done) return std::unexpected(done.error());
  }
  return guarantee;
}

Out to_json(const control::ContractPut& event) {
  Out value = to_json(event.terms);
  value["pkey"] = event.pkey;
  return value;
}

Out to_json(const control::ContractRemoved& event) { return {{"tenant", event.tenant}}; }

Out to_json(const control::QosClassesPut& event) { return {{"classes", to_json(event.classes)}}; }

Out to_json(const control::GuaranteeChanged& event) {
  return {{"job", control::to_string(event.job)},
          {"number", event.job.number()},
          {"tenant", event.tenant},
          {"forUs", event.for_us},
          {"guarantee", event.guarantee ? to_json(*event.guarantee) : Out(nullptr)}};
}

std::optional<Result<control::EventBody>> guarantee_event_from_json(std::string_view kind, const Json& data) {
  if (kind == "contract.put") {
    Json terms = data;
    const auto pkey = static_cast<std::uint16_t>(terms.value("pkey", 0U));
    terms.erase("pkey");
    auto contract = contract_from_json(terms);
    if (!contract) return std::unexpected(contract.error());
    return control::ContractPut{std::move(*contract), pkey};
  }
  if (kind == "contract.removed") {
    control::ContractRemoved body;
    ObjectReader reader(data, "/data");
    reader.read("tenant", body.tenant);
    if (auto done = reader.finish(); !done) return std::unexpected(done.error());
    return body;
  }
  if (kind == "qosClasses.put") {
    auto classes = qos_classes_from_json(data.value("classes", Json()), "/data/classes");
    if (!classes) return std::unexpected(classes.error());
    return control::QosClassesPut{std::move(*classes)};
  }
  if (const auto change = change_of(kind)) return read_changed(*change, data);
  return std::nullopt;
}

Out guarantee_state_to_json(const control::ClusterState& state) {
  Out contracts = Out::array();
  for (const auto& [tenant, contract] : *state.contracts) {
    Out item = to_json(contract.terms);
    item["pkey"] = contract.pkey;
    item["version"] = contract.version;
    contracts.push_back(std::move(item));
  }
  return {{"contracts", std::move(contracts)},
          {"qosClasses", to_json(*state.qos_classes)},
          {"qosVersion", state.qos_version}};
}

Result<void> read_guarantee_state(const Json& value, control::ClusterState& state) {
  ObjectReader reader(value, "/guarantees");
  reader.read("qosVersion", state.qos_version);
  const Json* contracts = reader.take("contracts");
  const Json* classes = reader.take("qosClasses");
  if (auto done = reader.finish(); !done) return done;
  if (classes != nullptr) {
    auto read = qos_classes_from_json(*classes, "/guarantees/qosClasses");
    if (!read) return std::unexpected(read.error());
    state.qos_classes = std::make_shared<const fabric::QosClasses>(std::move(*read));
  }
  if (contracts == nullptr) return {};
  control::ContractTable table;
  for (const auto& item : *contracts) {
    Json terms = item;
    const auto pkey = static_cast<std::uint16_t>(terms.value("pkey", 0U));
    const auto version = terms.value("version", std::uint64_t{0});
    terms.erase("pkey");
    terms.erase("version");
    auto contract = contract_from_json(terms);
    if (!contract) return std::unexpected(contract.error());
    const std::string tenant = contract->tenant;
    table.emplace(tenant, control::TenantContract{std::move(*contract), pkey, version});
  }
  state.contracts = std::make_shared<const control::ContractTable>(std::move(table));
  return {};
}

}  // namespace railweave::api
