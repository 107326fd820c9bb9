// Guarantees, what they take of links, and what has to be set for them to hold, as JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/control/events/command.h"
#include "services/control/guarantees/routes.h"
#include "services/control/live/status/subnet_status.h"
#include "services/control/views/guarantee_book.h"
#include "services/rest/json/rank_text.h"

namespace railweave::api {

// One line of GET /v1/guarantees. The book is at the state. live: of the subnets that are watched, by which it says
// what of the guarantee is in force and what is only planned.
std::string write_guarantee(const control::ClusterState& state, const control::GuaranteeBook& book,
                            const control::Job& job, std::int64_t now_us,
                            std::span<const control::SubnetStatusPtr> live);

// The `top` links of which the largest part of what may be reserved is, by class, with who has it.
std::string write_guaranteed_links(const control::ClusterState& state, const control::GuaranteeBook& book,
                                   std::uint64_t top);

// GET /v1/guarantees/reroute: other routes on which guarantees at risk would hold.
// applied: the state has its costs.
std::string write_route_proposal(const control::ClusterState& state, const control::RouteProposal& proposal,
                                 bool applied);

// What each adapter port of the job must be limited to, and the commands that do it: on the virtual function, and on
// the host's own stack.
std::string write_job_caps(const control::ClusterState& state, const control::Job& job);

// Its partitions of NVLink domains and its InfiniBand partition key.
std::string write_job_partition(const control::ClusterState& state, const control::Job& job);

// The links in the way of a guarantee, as problem details carry them ("links" member).
std::string write_blocked_links(const std::vector<control::BlockedLink>& links);

// Of a class by name; none: there is no such class, or more than service levels.
std::optional<ClassMarks> class_marks(const control::ClusterState& state, std::string_view qos_class,
                                      const fabric::Lanes& lanes);

// Of the guarantees that hold, as `railweave-verify` checks it.
std::string write_guarantee_certificate(const control::ClusterState& state, const control::GuaranteeBook& book);

}  // namespace railweave::api
