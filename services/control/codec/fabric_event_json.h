// Events about the live fabric, and the tables they fill, as the JSON values that the journal keeps.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "services/control/events/event.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

Out to_json(const control::TopologyDiffers& event);
Out to_json(const control::SubnetModeSet& event);
Out to_json(const control::SubnetKeyRotated& event);
Out to_json(const control::SubnetSpreadSet& event);
Out to_json(const control::DrainRequested& event);
Out to_json(const control::DrainAdvanced& event);
Out to_json(const control::DrainCleared& event);
Out to_json(const control::LinkCostsSet& event);
Out to_json(const control::RoutesRebalanced& event);
Out to_json(const control::LinksChanged& event);
Out to_json(const control::AlarmRaised& event);
Out to_json(const control::AlarmCleared& event);
Out to_json(const control::AlarmAcknowledged& event);
Out to_json(const control::AlarmMuted& event);
Out to_json(const control::LinkReleased& event);
Out to_json(const control::RoutesProgrammed& event);
Out to_json(const control::QosProgrammed& event);
Out to_json(const control::PortLimitsRead& event);
Out to_json(const control::SubnetTablesReported& event);
Out costs_to_json(const std::map<std::string, double>& by_link);  // LinkCosts::by_link

// nullopt: the kind is none of these.
std::optional<Result<control::EventBody>> fabric_event_from_json(std::string_view kind, const Json& data);

// Their part of a snapshot: {"subnetPolicies", "drains", "alarms", "links", "viewVersion"}. The topology must be set
// before it is read back.
Out fabric_state_to_json(const control::ClusterState& state);
Result<void> read_fabric_state(const Json& value, control::ClusterState& state);

}  // namespace railweave::api
