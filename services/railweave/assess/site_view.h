// What all sections of a report are made from. Constant after construction.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabric/qos/qos_class.h"
#include "fabric/routing/opensm/opensm_dumps.h"
#include "fabric/routing/opensm/path_levels.h"
#include "fabric/routing/plane/lanes.h"
#include "fabric/topology/fabric_view.h"
#include "fabric/topology/finding.h"
#include "fabric/topology/locality.h"
#include "fabric/topology/topology.h"
#include "services/railweave/assess/job_environment.h"
#include "services/railweave/assess/report_commands.h"
#include "services/railweave/assess/running_jobs.h"
#include "services/railweave/lab/routed_fabric.h"

namespace railweave::cli {

struct SiteView {
  fabric::TopologyPtr topology;
  fabric::Locality locality;
  std::vector<fabric::Finding> findings;
  ReportCommands commands;
  std::optional<RoutedFabric> own;           // Railweave's routes; none: there are no cables to route on
  fabric::Lanes held_lanes;                  // one for each plane, where no dump tells levels
  std::optional<fabric::ReadLevels> levels;  // of the paths of these tables; none: no dump of them
  bool lane_maps_told = false;               // so that lanes are not taken to be the levels
  std::optional<fabric::ReadTables> held;    // the tables that switches hold; none: no dump of them
  std::string held_from, links_from;         // the dump of tables, and the list of links that tells its LIDs
  JobList<RunningJob> running;
  JobList<PastJob> past;
  bool jobs_given = false, past_given = false;
  JobList<JobEnvironment> environments;
  std::optional<fabric::QosClasses> classes;  // of the site; none: not given
  std::string classes_from;
  std::map<std::string, std::string> virtual_machines;  // hosts whose PCI tree is virtual, with their type
  std::string topology_file;                            // of NCCL, written for such a machine; empty: none was given
};

}  // namespace railweave::cli
