// What all sections of a report are made from. Constant after construction.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabric/qos/qos_class.h"
#include "fabric/topology/fabric_view.h"
#include "fabric/topology/finding.h"
#include "fabric/topology/locality.h"
#include "fabric/topology/topology.h"
#include "services/railweave/assess/held_routes.h"
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
  std::optional<RoutedFabric> own;        // Railweave's routes; none: there are no cables to route on
  std::vector<std::string> lanes_unused;  // dumps of levels and lanes, where none tells tables
  std::optional<HeldRoutes> held;         // what switches hold; none: no dump of their tables
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
