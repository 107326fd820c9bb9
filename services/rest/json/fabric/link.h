// Links as JSON.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "services/control/live/status/live_fabric.h"
#include "services/control/state/cluster_state.h"
#include "services/rest/json/fabric/drain.h"
#include "services/rest/json/fabric/link_sighting.h"

namespace railweave::api {

// What GET /v1/links/{id} answers beyond an item of the list.
struct LinkDetails {
  ShownDrain drain;
  std::array<std::optional<control::PortCounters>, 2> counters;  // of Topology::a() and b()
  std::array<std::string, 2> unread{};  // why their counters are not read; "": they are, or no live subnet has them
  std::vector<const control::Alarm*> alarms;
};

std::string write_link(const control::ClusterState& state, fabric::LinkId link, const LinkSightings& seen);
// Links between sites, of kind "wan"; they have no counters.
std::string write_link(const control::ClusterState& state, fabric::SiteLinkId link);
std::string write_link(const control::ClusterState& state, fabric::SiteLinkId link, const LinkDetails& details);
std::string write_link(const control::ClusterState& state, fabric::LinkId link, const LinkSightings& seen,
                       const LinkDetails& details);

struct ReleaseRequest {
  std::string reason;
};
Result<ReleaseRequest> read_release_request(std::string_view body);

}  // namespace railweave::api
