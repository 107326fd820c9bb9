// The state after an event. Total: any event of the journal applies to the state it was decided on, without I/O or
// clock.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/control/events/event.h"

namespace railweave::control {

// Changes `state` in place; copies of it that others hold keep their value.
void apply(ClusterState& state, const Event& event);

// The same GPUs, by host name and local index, in another topology; none if one of them is not there.
std::optional<std::vector<fabric::GpuId>> map_gpus(const fabric::Topology& from, const fabric::Topology& to,
                                                   const std::vector<fabric::GpuId>& gpus);

// The hosts of the GPUs, each once, in the order they first come.
std::vector<std::string> node_names(const fabric::Topology& topology, const std::vector<fabric::GpuId>& gpus);

}  // namespace railweave::control
