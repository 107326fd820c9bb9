// Whose forwarding tables an answer about routes rests on, and when they were last seen.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "services/control/views/tables_used.h"
#include "services/rest/control_plane.h"

namespace railweave::api {

// Adds when switches were last asked. What a live subnet of this process has not read yet is unknown.
void add_ages(const ControlPlane& plane, std::vector<control::TablesUsed>& tables);

// As control::tables_used(), with ages.
std::vector<control::TablesUsed> tables_of(const ControlPlane& plane, const control::ClusterState& state,
                                           const control::FabricRoutes& routes,
                                           const std::set<std::string>& subnets = {});

// Of a job or a placement: of the subnets that ports of its GPUs are in.
std::set<std::string> subnets_of(const control::ClusterState& state, std::span<const fabric::GpuId> gpus);

}  // namespace railweave::api
