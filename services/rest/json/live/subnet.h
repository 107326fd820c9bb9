// Subnets as JSON: their part of the accepted topology, what programs them, and the state of the live ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "services/control/live/status/subnet_status.h"
#include "services/control/state/cluster_state.h"

namespace railweave::api {

// One subnet, of the accepted topology, of the configuration, or both.
struct ShownSubnet {
  std::string name;
  bool accepted = false;
  fabric::SubnetKind kind = fabric::SubnetKind::unknown;
  std::uint64_t switches = 0, host_ports = 0;
  control::SubnetStatusPtr live;  // null: no connection is configured
};
std::string write_subnet(const control::ClusterState& state, const ShownSubnet& subnet);

struct ModeRequest {
  control::SubnetMode mode = control::SubnetMode::observe;
  std::string reason;
};
Result<ModeRequest> read_mode_request(std::string_view body);
struct SpreadRequest {
  fabric::PathSpread spread = fabric::PathSpread::single;
  std::string reason;
};
Result<SpreadRequest> read_spread_request(std::string_view body);
// The reason.
Result<std::string> read_rotation_request(std::string_view body);
std::string write_rotation(const control::ClusterState& state, const std::string& subnet);
std::string write_spread(const control::ClusterState& state, const std::string& subnet);
std::string write_mode(std::string_view subnet, const control::SubnetPolicy& policy);

// What was found otherwise than accepted, and could be accepted: {"subnet", "items", "version", "seq"}. Null: nothing.
std::string write_found_changes(const control::ClusterState& state, const std::string& subnet,
                                const control::FoundChanges* changes);
// Ids of the changes to accept; none: all that there are.
Result<std::vector<std::string>> read_accepted_changes(std::string_view body);
std::string write_accepted_changes(const control::ClusterState& state, const std::string& subnet,
                                   const std::vector<control::FoundChange>& changes);

// All of it was seen, recently, and equals what is wanted.
bool is_synced(const control::SubnetStatus& status);
// {"synced", "subnets": [...], "seq"}: a summary of all live subnets.
std::string write_sync(const control::ClusterState& state, const std::vector<control::SubnetStatusPtr>& subnets);

// The outcome of a discovery. `fabric_json`: the fabric accepted by it; "": the request did not accept it.
std::string write_discovery(const control::ClusterState& state, const control::SubnetStatus& status,
                            const std::string& fabric_json);

struct DiscoverRequest {
  std::string subnet;  // "": the only live one
  bool accept = false;
  bool force = false;  // ends jobs whose nodes are not found
  std::uint32_t gpus_per_node = 0;
  std::uint32_t nvlink_domain = 0;
};
Result<DiscoverRequest> read_discover_request(std::string_view body);

}  // namespace railweave::api
