// Parts of answers about the fabric: its summary and its findings. Also printed by `railweave lab`.
#pragma once

#include <tuple>
#include <vector>

#include "fabric/topology/checks/checks.h"
#include "fabric/topology/finding.h"
#include "services/json/contract_object.h"

namespace railweave::api {

inline constexpr std::tuple kFabricSummaryFields{field<"hosts">(&fabric::FabricSummary::hosts),
                                                 field<"gpus">(&fabric::FabricSummary::gpus),
                                                 field<"switches">(&fabric::FabricSummary::switches),
                                                 field<"leaves">(&fabric::FabricSummary::leaves),
                                                 field<"hostPorts">(&fabric::FabricSummary::host_ports),
                                                 field<"hostLinks">(&fabric::FabricSummary::host_links),
                                                 field<"interSwitchLinks">(&fabric::FabricSummary::inter_switch_links),
                                                 field<"aggregationNodes">(&fabric::FabricSummary::aggregation_nodes),
                                                 field<"routers">(&fabric::FabricSummary::routers),
                                                 field<"components">(&fabric::FabricSummary::components),
                                                 field<"tiers">(&fabric::FabricSummary::tiers),
                                                 field<"rails">(&fabric::FabricSummary::rails),
                                                 field<"railsInferred">(&fabric::FabricSummary::rails_inferred),
                                                 field<"railConfidence">(&fabric::FabricSummary::rail_confidence),
                                                 field<"hostsShortOfRail">(&fabric::FabricSummary::hosts_short_of_rail),
                                                 field<"racks">(&fabric::FabricSummary::racks),
                                                 field<"subnets">(&fabric::FabricSummary::subnets),
                                                 field<"nvlinkDomains">(&fabric::FabricSummary::nvlink_domains),
                                                 optional_field<"sites">(&fabric::FabricSummary::sites)};
Out fabric_summary_json(const fabric::FabricSummary& summary);
Out findings_json(const std::vector<fabric::Finding>& findings);

}  // namespace railweave::api
