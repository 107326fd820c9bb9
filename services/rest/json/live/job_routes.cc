#include "services/rest/json/live/job_routes.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "services/json/json_out.h"
#include "services/rest/json/routing_value.h"

namespace railweave::api {
namespace {

std::int64_t permille(double share) { return std::llround(1000 * share); }

}  // namespace

std::string write_job_routes(const control::ClusterState& state, const std::string& subnet,
                             const control::JobRoutes& routes, const std::vector<control::TableDigest>& tables,
                             bool is_set) {
  Out digests = Out::array();
  for (const control::TableDigest& table : tables) {
    digests.push_back({{"switch", state.topology().name(table.sw)}, {"digest", digest_text(table.digest)}});
  }
  Out hops = Out::array();
  for (const control::RouteHop& hop : routes.hops) {
    hops.push_back({{"switch", hop.sw}, {"to", hop.to}, {"port", hop.port}});
  }
  const Out value{{"subnet", subnet},
                  {"applied", is_set},
                  {"keptBecause", routes.is_change() ? Out(nullptr) : Out(routes.kept_because)},
                  {"jobs", routes.jobs},
                  {"hops", std::move(hops)},
                  {"changedEntries", routes.changed_entries},
                  {"askedPermille", permille(routes.fullest)},
                  {"askedPermilleBefore", permille(routes.fullest_before)},
                  {"askedPermilleEven", permille(routes.fullest_even)},
                  {"tables", std::move(digests)},
                  {"version", state.view_version},
                  {"seq", state.seq}};
  return dump(value);
}

}  // namespace railweave::api
