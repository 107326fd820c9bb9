#include "services/rest/json/fabric/fabric_value.h"

namespace railweave::api {

Out fabric_summary_json(const fabric::FabricSummary& summary) {
  Out value{{"hosts", summary.hosts},
            {"gpus", summary.gpus},
            {"switches", summary.switches},
            {"leaves", summary.leaves},
            {"hostPorts", summary.host_ports},
            {"hostLinks", summary.host_links},
            {"interSwitchLinks", summary.inter_switch_links},
            {"aggregationNodes", summary.aggregation_nodes},
            {"routers", summary.routers},
            {"components", summary.components},
            {"tiers", summary.tiers},
            {"rails", summary.rails},
            {"railsInferred", summary.rails_inferred},
            {"railConfidence", summary.rail_confidence},
            {"hostsShortOfRail", summary.hosts_short_of_rail},
            {"racks", summary.racks},
            {"subnets", summary.subnets},
            {"nvlinkDomains", summary.nvlink_domains}};
  if (summary.sites > 0) value["sites"] = summary.sites;
  return value;
}

Out findings_json(const std::vector<fabric::Finding>& findings) {
  Out list = Out::array();
  for (const auto& finding : findings) {
    list.push_back({{"code", finding.code},
                    {"severity", fabric::to_string(finding.severity)},
                    {"message", finding.message},
                    {"objects", finding.objects}});
  }
  return list;
}

}  // namespace railweave::api
