// Makes the state that follows an event. Used by the control loop and for reading the journal back. Total: every event
// of the journal applies to the state that it was decided on. Reads no clock and does no I/O.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabric/topology/host_match.h"
#include "services/control/state/drain.h"

namespace railweave::control {

struct ClusterState;
struct Event;

// Changes `state` in place; copies made of it before keep their value.
void apply(ClusterState& state, const Event& event);

// The same GPUs, by host and local index, in another topology; none if it lacks one of them.
std::optional<std::vector<fabric::GpuId>> map_gpus(const fabric::Topology& from, const fabric::Topology& to,
                                                   const std::vector<fabric::GpuId>& gpus,
                                                   const fabric::RenamedHosts& renamed = {});

// The target of a drain under the names of another topology; none: its node is gone, and its name is another node's.
std::optional<DrainTarget> renamed_target(const DrainTarget& target, const fabric::RenamedHosts& renamed);

// The names of the GPUs' hosts, each once, in the order of their first GPU.
std::vector<std::string> node_names(const fabric::Topology& topology, const std::vector<fabric::GpuId>& gpus);

}  // namespace railweave::control
