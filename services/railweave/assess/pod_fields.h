// Fields of pods, as `kubectl get pods -o json` writes them.
#pragma once

#include <cstdint>
#include <string>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {

// A string as it is; anything else is empty.
std::string string_of(const Json& value);
// GPUs that its containers ask for.
std::uint32_t gpus_of_pod(const Json& pod);
// The job that it belongs to: by the labels of who makes groups of pods, else its owner, else its own name.
std::string owner_of_pod(const Json& metadata);
// Its index in that job; empty: not told.
std::string index_of_pod(const Json& metadata);

}  // namespace railweave::cli
