#include "services/rest/json/live/job_routes.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "services/json/contract_object.h"
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
    digests.push_back(object<"JobRoutes.tables">(with<"switch">(state.topology().name(table.sw)),
                                                 with<"digest">(digest_text(table.digest))));
  }
  Out hops = Out::array();
  for (const control::RouteHop& hop : routes.hops) {
    hops.push_back(object<"JobRoutes.hops">(with<"switch">(hop.sw), with<"to">(hop.to), with<"port">(hop.port)));
  }
  const Out value = object<"JobRoutes">(
      with<"subnet">(subnet), with<"applied">(is_set),
      with<"keptBecause">(routes.is_change() ? Out(nullptr) : Out(routes.kept_because)), with<"jobs">(routes.jobs),
      with<"hops">(std::move(hops)), with<"changedEntries">(routes.changed_entries),
      with<"askedPermille">(permille(routes.fullest)), with<"askedPermilleBefore">(permille(routes.fullest_before)),
      with<"askedPermilleEven">(permille(routes.fullest_even)), with<"tables">(std::move(digests)),
      with<"version">(state.view_version), with<"seq">(state.seq));
  return dump(value);
}

}  // namespace railweave::api
