#include "services/control/views/failure_coverage.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "fabric/base/mix.h"
#include "fabric/routing/plane/parallel_for.h"
#include "services/control/views/routing_cache.h"

namespace railweave::control {
namespace {

using fabric::LinkId;
using fabric::Reservation;
using fabric::RouteChangesPtr;

// Covers exactly the fields that determine loads (same_terms).
std::uint64_t hash_of(const Reservation& wanted) {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(wanted.promise), wanted.reserved_permille);
  for (const auto& port : wanted.ports) {
    hash = mix(hash ^ port.port.value(), static_cast<std::uint64_t>(port.send_mbps ^ port.receive_mbps << 20U));
  }
  for (const auto& flow : wanted.flows) {
    hash = mix(hash ^ flow.ports.from.value(), flow.ports.to.value() ^ static_cast<std::uint64_t>(flow.mbps) << 32U);
  }
  return hash;
}

bool same_terms(const Reservation& a, const Reservation& b) {
  return a.promise == b.promise && a.reserved_permille == b.reserved_permille && a.ports == b.ports &&
         std::ranges::equal(a.flows, b.flows, [](const auto& x, const auto& y) {
           return x.ports.from == y.ports.from && x.ports.to == y.ports.to && x.mbps == y.mbps;
         });
}

Result<RouteChangesPtr> changes_on(const FabricRoutes& routes, LinkId link) {
  fabric::FabricView failed = routes.input.view;
  failed.set_state(link, fabric::LinkState::down);
  auto without = reroute(routes, std::move(failed));
  if (!without) return std::unexpected(without.error());
  return std::make_shared<const fabric::RouteChanges>(
      fabric::route_changes(routes.routing.tables, (*without)->routing.tables, routes.scope().arc_of(link).plane));
}

}  // namespace

Result<RouteChangesPtr> FailureCoverage::without(const FabricRoutes& routes, LinkId link) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = changes_.find(link.value()); at != changes_.end()) return at->second;
  }
  auto made = changes_on(routes, link);
  if (!made) return made;
  const std::lock_guard lock(mutex_);
  if (entries_ + (*made)->entries.size() > kMaxEntries) {
    changes_.clear();
    entries_ = 0;
  }
  if (changes_.emplace(link.value(), *made).second) entries_ += (*made)->entries.size();
  return made;
}

FailureCoverage::SurvivingPtr FailureCoverage::find(const Reservation& wanted) const {
  const std::uint64_t hash = hash_of(wanted);
  const std::lock_guard lock(mutex_);
  const auto [first, last] = jobs_.equal_range(hash);
  const auto at = std::find_if(first, last, [&](const auto& one) { return same_terms(one.second->wanted, wanted); });
  return at == last ? nullptr : at->second->load;
}

std::vector<LinkId> FailureCoverage::far_reaching(const FabricRoutes& routes, fabric::PlaneId plane) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = far_reaching_.find(plane.value()); at != far_reaching_.end()) return at->second;
  }
  auto links = routes.choice.engine->far_reaching_links(routes.routing, plane);
  const std::lock_guard lock(mutex_);
  return far_reaching_.emplace(plane.value(), std::move(links)).first->second;
}

std::vector<LinkId> FailureCoverage::missing(const FabricRoutes& routes, const Reservation& wanted,
                                             fabric::HoseLoads& loads) {
  const auto plain = load_of_promise(wanted, loads);
  auto links = fabric::failures_that_matter(loads.view(), loads.tables(), plain.loads,
                                            [&](fabric::PlaneId plane) { return far_reaching(routes, plane); });
  const std::lock_guard lock(mutex_);
  std::erase_if(links, [&](LinkId link) { return changes_.contains(link.value()); });
  return links;
}

std::size_t FailureCoverage::unknown(const FabricRoutes& routes, const Reservation& wanted, fabric::HoseLoads& loads) {
  if (find(wanted) != nullptr) return 0;
  const auto known = begun(wanted);
  const auto left =
      known ? known->search.spread_work() : fabric::SurvivingSearch(wanted, loads, failures_of(routes)).spread_work();
  return missing(routes, wanted, loads).size() + left;
}

fabric::FailureRoutes FailureCoverage::failures_of(const FabricRoutes& routes) {
  return {[this, &routes](LinkId link) { return without(routes, link); },
          [this, &routes](fabric::PlaneId plane) { return far_reaching(routes, plane); }};
}

FailureCoverage::BegunPtr FailureCoverage::begun(const Reservation& wanted) const {
  const std::lock_guard lock(mutex_);
  const auto at = begun_.find(hash_of(wanted));
  return at == begun_.end() || !same_terms(at->second->wanted, wanted) ? nullptr : at->second;
}

void FailureCoverage::keep(BegunPtr begun) {
  const std::uint64_t hash = hash_of(begun->wanted);
  const std::lock_guard lock(mutex_);
  if (begun_.size() >= kMaxBegun && !begun_.contains(hash)) begun_.clear();
  auto& kept = begun_[hash];
  if (kept == nullptr || !same_terms(kept->wanted, begun->wanted) ||
      kept->search.spread_work() > begun->search.spread_work()) {
    kept = std::move(begun);
  }
}

void FailureCoverage::compute(const FabricRoutes& routes, const Reservation& wanted, fabric::HoseLoads& loads,
                              std::size_t limit) {
  std::vector<LinkId> links = missing(routes, wanted, loads);
  if (links.size() > limit) links.resize(limit);
  const std::size_t parts = std::clamp<std::size_t>(links.size() / 16, 1, fabric::part_count());
  fabric::on_threads()(parts, [&](std::size_t part) {
    for (std::size_t i = part; i < links.size(); i += parts) (void)without(routes, links[i]);
  });
  const std::size_t left = limit - links.size();
  if (left == 0) return;
  const auto failures = failures_of(routes);
  const auto known = begun(wanted);
  auto next = known ? *known : Begun{wanted, fabric::SurvivingSearch(wanted, loads, failures)};
  if (next.search.spread_work() == 0) return;
  next.wanted.loads.clear();
  (void)next.search.run(wanted, loads, failures, left);  // an error is that of surviving()
  keep(std::make_shared<const Begun>(std::move(next)));
}

Result<FailureCoverage::SurvivingPtr> FailureCoverage::surviving(const FabricRoutes& routes, const Reservation& wanted,
                                                                 fabric::HoseLoads& loads) {
  if (auto known = find(wanted)) return known;
  compute(routes, wanted, loads, SIZE_MAX);
  const auto failures = failures_of(routes);
  const auto started = begun(wanted);
  auto search = started ? started->search : fabric::SurvivingSearch(wanted, loads, failures);
  if (auto done = search.run(wanted, loads, failures, SIZE_MAX); !done) return std::unexpected(done.error());
  auto known =
      std::make_shared<Known>(wanted, std::make_shared<const fabric::SurvivingLoad>(std::move(search).take(wanted)));
  known->wanted.loads.clear();
  const std::lock_guard lock(mutex_);
  begun_.erase(hash_of(wanted));
  if (jobs_.size() >= kMaxJobs) jobs_.clear();
  jobs_.emplace(hash_of(wanted), known);
  return known->load;
}

}  // namespace railweave::control
