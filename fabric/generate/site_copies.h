// Generates several sites with the same fabric, every two joined by long-haul links: the parameters "sites",
// "wan-links", "wan-rate" and "wan-km" of every kind and preset. Internal to fabric/generate.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fabric/generate/generate.h"

namespace railweave::fabric {

// The parameters that every kind has.
const std::vector<GenerateParameter>& site_parameters();

// Calls `generate` once for each site, with the other parameters and the prefix of every name ("s1-"; empty if there is
// one site only). Each site has its own fabric and subnets; Topology::site_links() join them.
Result<void> generate_sites(const GenerateParameters& parameters, TopologyBuilder& builder,
                            const std::function<Result<void>(const GenerateParameters&, const std::string&)>& generate);

}  // namespace railweave::fabric
