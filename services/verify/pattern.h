// The flows of a job that is promised its pattern, computed from what the job is outside the certificate: its parallelism,
// its model or traffic, and where its ranks run. By the definitions of scheduler/collective/traffic.h and job_flows.h,
// without their code. Used by promises.cc. Throws std::exception if the job is not well formed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "services/verify/network.h"

namespace railweave::verify {

using Flows = std::map<std::pair<PortName, PortName>, std::int64_t>;  // Mb/s, from port to port

// How many bytes rings pass between NVLink domains depends on whether the NVLink switches of the GPUs reduce, which the
// fabric's file need not say.
struct PatternFlows {
  Flows reducing, plain;
};

// cabled: by all cables, up or not. None: they depend on what the files do not say: switches that reduce, or adapters that
// the job's GPUs share with others.
std::optional<PatternFlows> pattern_flows(const nlohmann::json& job, const Network& network, const Parts& cabled,
                                          std::int64_t rate_mbps);

}  // namespace railweave::verify
