// Contracts, classes and guarantees <-> JSON values as the journal keeps them.
#pragma once

#include <optional>
#include <string_view>

#include "services/control/events/event.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

Out to_json(const scheduler::Contract& terms);

Out to_json(const fabric::QosClasses& classes);
Result<fabric::QosClasses> qos_classes_from_json(const Json& value, const std::string& pointer);

Out to_json(const control::JobGuarantee& guarantee);
Result<control::JobGuarantee> guarantee_from_json(const Json& value, const std::string& pointer);

Out to_json(const control::ContractPut& event);
Out to_json(const control::ContractRemoved& event);
Out to_json(const control::QosClassesPut& event);
Out to_json(const control::GuaranteeChanged& event);
// nullopt: the kind is none of these.
std::optional<Result<control::EventBody>> guarantee_event_from_json(std::string_view kind, const Json& data);

// Their part of a snapshot: {"contracts", "qosClasses", "qosVersion"}. Jobs carry their guarantees.
Out guarantee_state_to_json(const control::ClusterState& state);
// The indices of partition keys on hosts where jobs of contracts run; read when the jobs are there.
Out host_keys_to_json(const control::ClusterState& state);
Result<void> read_host_keys(const Json& value, control::ClusterState& state);
Result<void> read_guarantee_state(const Json& value, control::ClusterState& state);

std::string_view to_text(fabric::TrafficPromise promise);  // "hose", "pattern"
std::optional<fabric::TrafficPromise> parse_promise(std::string_view text);
std::string_view to_text(scheduler::RateBasis basis);  // "perPort", "perJob"
std::optional<scheduler::RateBasis> parse_basis(std::string_view text);

}  // namespace railweave::api
