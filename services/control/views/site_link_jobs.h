// Which placed jobs talk over a link between sites. Used by alarms, previews and the progress of drains. Pure.
#pragma once

#include <string>
#include <vector>

#include "services/control/state/cluster_state.h"

namespace railweave::control {

struct JobOverSiteLink {
  JobPtr job;
  bool needs_it = false;  // no other route joins its sites
};
// Jobs with ranks at two sites whose route leads over the link, or would if all of it were in use; by id. O(ranks).
std::vector<JobOverSiteLink> jobs_over(const ClusterState& state, fabric::SiteLinkId link);

// "job-000001, job-000002 and 3 more", of those that need it; empty: none does.
Message needing(const std::vector<JobOverSiteLink>& jobs);

// "link east--west is down", of the links between sites that are not in use; "": all are.
std::string site_links_out_text(const ClusterState& state);

}  // namespace railweave::control
