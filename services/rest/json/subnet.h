// Subnets as JSON: what the accepted topology has of them, who programs them, and how far the live ones are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
std::string write_mode(std::string_view subnet, const control::SubnetPolicy& policy);

// Tables read back are those wanted.
bool is_synced(const control::SubnetStatus& status);
// {"synced", "subnets": [...], "seq"}: all live subnets in brief.
std::string write_sync(const control::ClusterState& state, const std::vector<control::SubnetStatusPtr>& subnets);

// What came of a discovery; `fabric_json`: the fabric as it is accepted now, "": it was not asked for.
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
