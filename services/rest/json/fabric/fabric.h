// The physical fabric as JSON: one function per resource, each item a JSON object.
#pragma once

#include <string>
#include <vector>

#include "fabric/topology/checks/checks.h"
#include "services/control/state/cluster_state.h"
#include "services/rest/json/fabric/drain.h"

namespace railweave::api {

using control::ClusterState;

std::string write_fabric(const ClusterState& state);  // summary, where it came from, GPUs free
std::string write_import(const ClusterState& state);  // the same, and what was found in reading the accepted files
std::string write_findings(const std::vector<fabric::Finding>& findings);
// With a drain: the whole resource, with its GPUs and adapters or its ports. Without: an item of a list.
std::string write_node(const ClusterState& state, fabric::HostId host);
std::string write_node(const ClusterState& state, fabric::HostId host, const ShownDrain& drain);
std::string write_switch(const ClusterState& state, fabric::SwitchId sw);
std::string write_switch(const ClusterState& state, fabric::SwitchId sw, const ShownDrain& drain);
std::string write_nvlink_domain(const ClusterState& state, fabric::NvlinkDomainId domain);
std::string write_rail(const ClusterState& state, fabric::RailId rail, std::size_t ports);
std::string write_rack(const ClusterState& state, fabric::RackId rack, std::size_t nodes);

}  // namespace railweave::api
