// Guarantees, the capacity they reserve of links, and the settings that enforce them, as JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/control/agents/class_grade.h"
#include "services/control/events/command.h"
#include "services/control/guarantees/routes.h"
#include "services/control/live/status/subnet_status.h"
#include "services/control/views/guarantee_book.h"
#include "services/control/views/tables_used.h"
#include "services/rest/json/ranks/rank_text.h"

namespace railweave::api {

// Why the class and the routes of the job's ports are not known to be in force; "": they were read from all switches and
// ports of their subnets. tables: of those subnets.
std::string not_in_force(const control::ClusterState& state, const control::Job& job,
                         std::span<const fabric::PortId> ports, std::span<const control::SubnetStatusPtr> live,
                         std::span<const control::TablesUsed> tables);

// An item of GET /v1/guarantees. The book must be at the state. live: the live subnets; they tell which part of the
// guarantee is enforced and which is only planned. tables: of the subnets of its ports. in_class: what agents report, where the
// contract asks for isolation "class".
std::string write_guarantee(const control::ClusterState& state, const control::GuaranteeBook& book,
                            const control::Job& job, std::int64_t now_us,
                            std::span<const control::SubnetStatusPtr> live, std::span<const control::TablesUsed> tables,
                            const control::ClassGrade& in_class = {});

// The `top` links with the largest reserved share, by class, with the jobs that reserve it.
std::string write_guaranteed_links(const control::ClusterState& state, const control::GuaranteeBook& book,
                                   std::uint64_t top);

// GET /v1/guarantees/reroute: other routes on which guarantees at risk would hold.
// applied: the state already has its link costs.
std::string write_route_proposal(const control::ClusterState& state, const control::RouteProposal& proposal,
                                 bool applied);

// The rate limit of each adapter port of the job, and the commands that set it: on the virtual function, and in the
// host's own network stack.
std::string write_job_caps(const control::ClusterState& state, const control::Job& job);

// Its partitions of NVLink domains and its InfiniBand partition key, with the key's index on every node. An IMEX list is
// of a whole node: without allow_shared none is given where jobs of other tenants run on its nodes.
std::string write_job_partition(const control::ClusterState& state, const control::Job& job, bool allow_shared);

// The links that a guarantee does not fit on, for the "links" member of problem documents.
std::string write_blocked_links(const std::vector<control::BlockedLink>& links);

// The index of the tenant's key on the adapters of each of the job's hosts, where Railweave writes it: on subnets in
// direct mode. OpenSM chooses indices itself. 0: none.
std::function<std::uint16_t(fabric::HostId)> pkey_indices(const control::ClusterStatePtr& state,
                                                          const control::Job& job);

// The DSCP of a job's packets on Ethernet: of its own lane where it has one, which switches without Railweave's configuration
// take for best effort; else of its class. nullopt: no such class.
std::optional<std::uint8_t> job_dscp(const control::ClusterState& state, const control::JobGuarantee& guarantee,
                                     std::span<const fabric::GpuId> gpus);

// Marks of a job's packets: of its own lane where all of its subnets are in direct mode, as ports have no such lanes
// elsewhere; else of its class. nullopt: no such class, or more classes than service levels.
std::optional<ClassMarks> class_marks(const control::ClusterState& state, const control::JobGuarantee& guarantee,
                                      std::span<const fabric::GpuId> gpus, const fabric::Lanes& lanes);

// The certificate of the guarantees that hold, for `railweave-verify`. Of a book at the state: its routes with
// fabric::entries_digest() of them, and its ledger, which may be copies, as this takes long on a large fabric.
std::string write_guarantee_certificate(const control::ClusterState& state, const control::FabricRoutes& routes,
                                        std::uint64_t entries_digest, const fabric::Ledger& ledger);

}  // namespace railweave::api
