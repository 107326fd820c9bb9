// The fabric of the benchmarks of the service, as native JSON: 100,000 GPUs on 12,800 hosts.
#pragma once

#include <string>

namespace railweave {

const std::string& large_fabric();

}  // namespace railweave
