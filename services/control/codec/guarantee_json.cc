#include "services/control/codec/guarantee_json.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "services/control/codec/event_body.h"
#include "services/control/codec/job_number.h"
#include "services/control/codec/message_json.h"
#include "services/control/state/cluster_state.h"
#include "services/json/record.h"

namespace railweave::api {
namespace {

using control::GuaranteeChange;
using control::GuaranteeChanged;
using control::JobGuarantee;
using control::ViewBasis;
using fabric::QosClass;
using fabric::TrafficPromise;
using scheduler::Contract;
using scheduler::Isolation;
using scheduler::RateBasis;

constexpr std::size_t kMaxClasses = 15;

std::optional<GuaranteeChange> change_of(std::string_view kind) {
  for (const auto change : {GuaranteeChange::at_risk, GuaranteeChange::restored, GuaranteeChange::covered,
                            GuaranteeChange::lane_changed, GuaranteeChange::amended}) {
    if (kind == "guarantee." + std::string(to_string(change))) return change;
  }
  return std::nullopt;
}

constexpr ByText kPromise{[](TrafficPromise promise) { return to_text(promise); },
                          [](std::string_view text) { return parse_promise(text); }, "model", "hose or pattern"};
constexpr ByText kBasis{[](RateBasis basis) { return to_text(basis); },
                        [](std::string_view text) { return parse_basis(text); }, "basis", "perPort or perJob"};
constexpr ByText kIsolation{[](Isolation isolation) { return railweave::to_text(isolation); },
                            [](std::string_view text) { return parse_enum<Isolation>(text); }, "isolation",
                            "planned, class or lane"};
constexpr Names<fabric::ClassBound, 2> kBounds{
    {{"latency", fabric::ClassBound::latency}, {"bandwidth", fabric::ClassBound::bandwidth}}};

constexpr std::tuple kContractFields{field("tenant", &Contract::tenant),
                                     field("guaranteedMbps", &Contract::guaranteed),
                                     required_field("basis", &Contract::basis, kBasis),
                                     required_field("model", &Contract::promise, kPromise),
                                     field("surviveLinkFailure", &Contract::survives_link_failure),
                                     field("classes", &Contract::classes, Strings{kMaxClasses}),
                                     field("reservedPermille", &Contract::reserved_permille),
                                     optional_field("isolated", &Contract::isolated),
                                     optional_field("isolation", &Contract::isolation, kIsolation),
                                     optional_field("maxMbps", &Contract::most),
                                     optional_field("maxGpus", &Contract::max_gpus),
                                     optional_field("maxNvlinkDomains", &Contract::max_nvlink_domains)};
constexpr std::tuple kClassesFields{required_field("name", &QosClass::name),
                                    required_field("sharePermille", &QosClass::share_permille),
                                    field("priority", &QosClass::priority, UpTo{255}),
                                    field("bound", &QosClass::bound, OneOf{kBounds, "bound"}),
                                    field("lossless", &QosClass::lossless),
                                    required_field("dscp", &QosClass::dscp, UpTo{63}),
                                    optional_field("open", &QosClass::open)};
// Earlier versions wrote negative ones where the time of day had been set back: read as 0.
struct NotNegative {
  static void read(ObjectReader& reader, std::string_view name, std::int64_t& into) {
    const Json* const value = reader.take(name);
    if (value == nullptr) return;
    if (!value->is_number_integer()) return reader.set_error(name, "expected a whole number");
    into = std::max<std::int64_t>(0, value->get<std::int64_t>());
  }
  static Out write(std::int64_t value) { return value; }
};
constexpr std::tuple kGuaranteeFields{field("class", &JobGuarantee::qos_class),
                                      required_field("model", &JobGuarantee::promise, kPromise),
                                      field("rateMbps", &JobGuarantee::rate),
                                      field("maxMbps", &JobGuarantee::most),
                                      field("reservedPermille", &JobGuarantee::reserved_permille),
                                      field("surviveLinkFailure", &JobGuarantee::survives_link_failure),
                                      field("admittedSeq", &JobGuarantee::admitted_seq),
                                      field("atRiskSinceUs", &JobGuarantee::at_risk_since_us),
                                      field("atRiskTotalUs", &JobGuarantee::at_risk_total_us, NotNegative{})};
constexpr std::tuple kViewFields{field("down", &ViewBasis::down_links, Strings{}),
                                 field("drainedLinks", &ViewBasis::drained_links, Strings{}),
                                 field("drainedSwitches", &ViewBasis::drained_switches, Strings{})};
struct OwnLane {
  static void read(ObjectReader& reader, std::string_view name, std::optional<std::uint8_t>& into) {
    if (!reader.has(name)) return;
    std::uint8_t lane = 0;
    UpTo{JobGuarantee::kMaxLanes - 1}.read(reader, name, lane);
    into = lane;
  }
  static Out write(const std::optional<std::uint8_t>& value) { return value ? Out(*value) : Out(nullptr); }
};
// After coveredOn, which is there only for guarantees that are covered.
constexpr std::tuple kRiskFields{optional_field("isolation", &JobGuarantee::isolation, kIsolation),
                                 optional_field("lane", &JobGuarantee::lane, OwnLane{}),
                                 optional_field("reason", &JobGuarantee::reason, Said{}),
                                 optional_field("links", &JobGuarantee::links, Strings{JobGuarantee::kMaxLinks})};
constexpr std::tuple kGuaranteeChangeFields{
    field("number", &GuaranteeChanged::job, JobNumber{}), field("tenant", &GuaranteeChanged::tenant),
    field("forUs", &GuaranteeChanged::for_us, NotNegative{}),
    field("guarantee", &GuaranteeChanged::guarantee,
          Embedded{[](const JobGuarantee& guarantee) { return to_json(guarantee); },
                   [](const Json& value, const std::string& pointer) { return guarantee_from_json(value, pointer); }})};

Result<control::EventBody> read_changed(GuaranteeChange change, const Json& data) {
  GuaranteeChanged body;
  body.change = change;
  ObjectReader reader(data, "/data");
  read_fields(reader, body, kGuaranteeChangeFields);
  (void)reader.take("job");  // the number as text, for people
  return finished(reader, std::move(body));
}

// A contract as events and snapshots keep it: its terms beside what is not part of them.
struct KeptContract {
  Contract terms;
  std::uint16_t pkey = 0;
  std::uint64_t version = 0;
};
Result<KeptContract> kept_contract_from_json(const Json& value, const std::string& pointer) {
  KeptContract kept;
  ObjectReader reader(value, pointer);
  UpTo{0xffff}.read(reader, "pkey", kept.pkey);
  reader.read("version", kept.version);
  read_fields(reader, kept.terms, kContractFields);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return kept;
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

Out to_json(const Contract& terms) { return fields_json(terms, kContractFields); }

Out to_json(const fabric::QosClasses& classes) {
  Out list = Out::array();
  for (const auto& one : classes) list.push_back(fields_json(one, kClassesFields));
  return list;
}

Result<fabric::QosClasses> qos_classes_from_json(const Json& value, const std::string& pointer) {
  if (!value.is_array() || value.size() > kMaxClasses) {
    return fail(ErrorKind::invalid, "body.invalidField", "a list of at most 15 classes is wanted", pointer);
  }
  fabric::QosClasses classes;
  for (std::size_t i = 0; i < value.size(); ++i) {
    QosClass one;
    one.priority = static_cast<std::uint8_t>(i);
    auto read = record_from_json(value[i], fmt::format("{}/{}", pointer, i), kClassesFields, std::move(one));
    if (!read) return std::unexpected(read.error());
    classes.push_back(std::move(*read));
  }
  return classes;
}

Out to_json(const JobGuarantee& guarantee) {
  Out value = fields_json(guarantee, kGuaranteeFields);
  if (guarantee.covered) value["coveredOn"] = fields_json(guarantee.basis, kViewFields);
  write_fields(value, guarantee, kRiskFields);
  return value;
}

Result<JobGuarantee> guarantee_from_json(const Json& value, const std::string& pointer) {
  JobGuarantee guarantee;
  ObjectReader reader(value, pointer);
  read_fields(reader, guarantee, kGuaranteeFields);
  read_fields(reader, guarantee, kRiskFields);
  if (const Json* covered = reader.take("coveredOn"); covered != nullptr) {
    guarantee.covered = true;
    auto basis = record_from_json<ViewBasis>(*covered, reader.pointer("coveredOn"), kViewFields);
    if (!basis) return std::unexpected(basis.error());
    guarantee.basis = std::move(*basis);
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return guarantee;
}

Out to_json(const control::ContractPut& event) {
  Out value = to_json(event.terms);
  value["pkey"] = event.pkey;
  return value;
}

Out to_json(const control::ContractRemoved& event) { return {{"tenant", event.tenant}}; }

Out to_json(const control::QosClassesPut& event) {
  Out value{{"classes", to_json(event.classes)}};
  if (event.forced) value["forced"] = true;
  return value;
}

Out to_json(const GuaranteeChanged& event) {
  Out value{{"job", control::to_string(event.job)}};
  write_fields(value, event, kGuaranteeChangeFields);
  return value;
}

std::optional<Result<control::EventBody>> guarantee_event_from_json(std::string_view kind, const Json& data) {
  if (kind == "contract.put") {
    auto kept = kept_contract_from_json(data, "/data");
    if (!kept) return std::unexpected(kept.error());
    return control::ContractPut{std::move(kept->terms), kept->pkey};
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
    return control::QosClassesPut{std::move(*classes), data.value("forced", Json(false)) == Json(true)};
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

Out host_keys_to_json(const control::ClusterState& state) {
  Out hosts = Out::array();
  for (std::size_t i = 0; i < state.host_keys.size(); ++i) {
    const control::HostKeys& keys = state.host_keys[i];
    if (keys.empty()) continue;
    Out pkeys = Out::array();
    for (const auto& slot : keys.slots) pkeys.push_back(slot.pkey);
    hosts.push_back({{"node", state.topology().name(state.topology().hosts()[i])},
                     {"pkeys", std::move(pkeys)},
                     {"limited", keys.limited}});
  }
  return hosts;
}

Result<void> read_host_keys(const Json& value, control::ClusterState& state) {
  for (const auto& item : value) {
    ObjectReader reader(item, "/hostKeys");
    std::string node;
    bool limited = false;
    std::vector<std::uint16_t> pkeys;
    reader.read("node", node);
    reader.read("limited", limited);
    if (const Json* list = reader.take("pkeys"); list != nullptr) {
      for (const auto& pkey : *list) pkeys.push_back(pkey.get<std::uint16_t>());
    }
    if (auto done = reader.finish(); !done) return done;
    const auto host = state.topology().find_host(node);
    if (!host) continue;
    control::HostKeys& keys = state.host_keys.write(host.index());
    keys.arrange(pkeys);
    keys.limited = limited && state.allocations[host.index()].used != 0;
  }
  return {};
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
    auto kept = kept_contract_from_json(item, "/guarantees/contracts");
    if (!kept) return std::unexpected(kept.error());
    const std::string tenant = kept->terms.tenant;
    table.emplace(tenant, control::TenantContract{std::move(kept->terms), kept->pkey, kept->version});
  }
  state.contracts = std::make_shared<const control::ContractTable>(std::move(table));
  return {};
}

}  // namespace railweave::api
