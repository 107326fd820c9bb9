// Traffic classes as Ethernet devices take them: whole percent, and few that are lossless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fabric/qos/ethernet_plan.h"
#include "fabric/qos/qos_class.h"

namespace railweave::cli {

using fabric::kCongestionDscp;

// Whole percent that sum to 100, each at least 1, nearest to the shares.
std::vector<unsigned> class_percents(const fabric::QosClasses& classes);

// The classes that are lossless: buffers hold two, those of the largest shares. Notes the others.
std::vector<std::size_t> lossless_classes(const fabric::QosClasses& classes, std::vector<std::string>& notes);

}  // namespace railweave::cli
