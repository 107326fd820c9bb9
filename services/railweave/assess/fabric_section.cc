#include <fmt/core.h>

#include "fabric/topology/checks/checks.h"
#include "services/railweave/assess/cabling_advice.h"
#include "services/railweave/assess/sections.h"
#include "services/railweave/site/fabric_report.h"

namespace railweave::cli {

ReportSection fabric_section(const SiteView& site) {
  ReportSection section{.id = "fabric", .title = "Fabric and cabling"};
  const auto summary = fabric::summarize(*site.topology);
  section.facts = {{"hosts", std::to_string(summary.hosts)},
                   {"GPUs", std::to_string(summary.gpus)},
                   {"switches, leaves of them", fmt::format("{}, {}", summary.switches, summary.leaves)},
                   {"links to hosts", std::to_string(summary.host_links)},
                   {"links between switches", std::to_string(summary.inter_switch_links)},
                   {"rails", std::to_string(summary.rails)},
                   {"hosts short of a rail", std::to_string(summary.hosts_short_of_rail)}};
  section.data = fabric_report(summary);
  section.advice = cabling_advice(*site.topology, site.findings, site.commands);
  section.text = section.advice.empty() ? "No fault was found in the cabling." : "";
  return section;
}

}  // namespace railweave::cli
