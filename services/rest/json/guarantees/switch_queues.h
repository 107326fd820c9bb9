// What the ports of an Ethernet switch should do for classes and jobs' own lanes, as JSON.
#pragma once

#include <string>

#include "services/control/state/cluster_state.h"
#include "services/control/views/guarantee_book.h"

namespace railweave::api {

// Precondition: the book is at the state.
std::string write_switch_queues(const control::ClusterState& state, const control::GuaranteeBook& book,
                                fabric::SwitchId sw);

}  // namespace railweave::api
