// Several sites of the same fabric, every two joined by long-haul links: what "sites", "wan-links", "wan-rate" and
// "wan-km" ask of any kind or preset. Internal to fabric/generate.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fabric/generate/generate.h"

namespace railweave::fabric {

// The parameters, as each kind has them.
const std::vector<GenerateParameter>& site_parameters();

// Calls `generate` once for each site, with what goes before every name ("s1-", nothing where there is one site only),
// and what is left of the parameters. Each site is a fabric and subnets of its own; what joins them is
// Topology::site_links().
Result<void> generate_sites(const GenerateParameters& parameters, TopologyBuilder& builder,
                            const std::function<Result<void>(const GenerateParameters&, const std::string&)>& generate);

}  // namespace railweave::fabric
