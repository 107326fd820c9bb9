// The state by name alone: headers that pass it on need no more.
#pragma once

#include <memory>

namespace railweave::control {

struct ClusterState;
using ClusterStatePtr = std::shared_ptr<const ClusterState>;

}  // namespace railweave::control
