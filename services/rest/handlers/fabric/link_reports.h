// Reports of links between sites: no live subnet sees them, so operators and their monitoring say what state they are in.
#pragma once

#include <string>

#include "services/rest/handlers/route_table.h"
#include "services/rest/json/fabric/link.h"

namespace railweave::api {

Result<Response> post_link_report(const Call& call);
Result<Submission> post_link_release(const Call& call);  // what a link that flaps did is forgotten
Error no_link(const std::string& text);
// The drain and the alarms of a link; its counters are the caller's to add.
LinkDetails link_details(const ControlPlane& plane, const control::ClusterState& state, const std::string& id);

// Why the counters of a port are not read: "does not answer, since ..."; "": they are, or no live subnet has it.
std::string why_unread(const ControlPlane& plane, const fabric::Topology& topology, fabric::PortId port);

}  // namespace railweave::api
