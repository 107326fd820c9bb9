#include "services/control/live/routes/wanted_routes.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/routing/audit/changed_routes.h"
#include "services/control/live/routes/table_reading.h"

namespace railweave::control {

void WantedRoutes::set_base(FabricRoutesPtr base, std::span<const fabric::SwitchId> switches) {
  base_ = std::move(base);
  planes_ = planes_of(base_->scope(), switches);
  routing_.reset();
  prepared_.reset();
  old_levels_.clear();
}

Result<WantedRoutes::Update> WantedRoutes::compute(fabric::FabricView view, std::uint64_t view_version,
                                                   std::int64_t now_us) {
  fabric::RoutingInput input = base_->input;
  input.view = view;
  const bool is_prepared = prepared_ && prepared_->input.view.is_based_alike(view);
  auto routing = base_->choice.engine->reroute(is_prepared ? prepared_->routing
                                               : routing_  ? *routing_
                                                           : base_->routing,
                                               input);
  if (is_prepared) prepared_.reset();
  view_version_ = view_version;
  is_impossible_ = !routing;
  if (!routing) return std::unexpected(routing.error());
  view_ = std::move(view);
  const Update update{.is_verified = verify(*routing),
                      .is_same = routing_ && same_tables(routing_->tables, routing->tables)};
  if (routing_ && !update.is_same) old_levels_ = judged_levels(*routing, update.is_verified);
  routing_ = std::move(*routing);
  computed_at_us_ = now_us;
  if (!update.is_same) {
    ++version_;
    unreachable_pairs_.reset();
    is_audited_ = false;
  }
  return update;
}

// What changed, where the routes before are verified and the rest follows from them; else all of it.
bool WantedRoutes::verify(const fabric::Routing& routing) {
  if (routing_ && fault_.empty()) {
    const auto checked = fabric::check_changed_routes(view_, *routing_, routing, planes_);
    if (!checked.changed.verified()) {
      fault_ = checked.changed.example.empty() ? "what changed has no route" : checked.changed.example;
      return false;
    }
    if (checked.complete) return true;
  }
  const auto report = audit_of(view_, routing, planes_, fabric::AuditOptions::on_all_cores());
  fault_ = fault_of(report);
  return report.verified();
}

// Where levels are the same, they passed the audit with the routes; others are audited on the new tables.
std::string WantedRoutes::judged_levels(const fabric::Routing& now, bool is_verified) const {
  bool several = false, same = true, known = true;
  for (const fabric::PlaneId plane : planes_) {
    const std::size_t i = plane.index();
    if (i >= now.lanes.planes.size() || i >= routing_->lanes.planes.size()) continue;
    const fabric::PlaneLanes &had = routing_->lanes.planes[i], &has = now.lanes.planes[i];
    several = several || !has.single();
    same = same && had == has;
    known = known && had.levels <= has.levels;
  }
  if (!several) return {};
  if (!known) return "new routes have fewer service levels than those before: senders must ask again";
  if (same) {
    return is_verified ? "paths keep their service levels, which passed the audit on the new tables"
                       : "paths keep their service levels, on tables that did not pass the audit";
  }
  fabric::Routing kept = now;
  for (const fabric::PlaneId plane : planes_) {
    const std::size_t i = plane.index();
    if (i >= kept.lanes.planes.size() || i >= routing_->lanes.planes.size()) continue;
    kept.lanes.planes[i].path_level = routing_->lanes.planes[i].path_level;
  }
  const auto report = audit_of(view_, kept, planes_, fabric::AuditOptions::on_all_cores());
  if (report.credit_loops == 0) return "senders that keep the service levels from before close no credit loop";
  return fmt::format(
      "senders that keep the service levels from before close credit loops on {} lanes until they ask again",
      report.credit_loops);
}

unsigned WantedRoutes::lanes_used() const {
  unsigned most = 0;
  for (const fabric::PlaneId plane : planes_) {
    const auto& lanes = routing_->lanes.planes;
    if (plane.index() < lanes.size()) most = std::max<unsigned>(most, lanes[plane.index()].lanes);
  }
  return most;
}

std::optional<ClearedRoutes> WantedRoutes::cleared(unsigned lanes) const {
  if (!routing_ || is_impossible_ || !fault_.empty() || lanes_used() > lanes) return std::nullopt;
  return ClearedRoutes(*routing_);
}

bool WantedRoutes::are_quiet(std::int64_t now_us) const {
  constexpr std::int64_t kQuietUs = 300'000;
  return routing_ && now_us - computed_at_us_ >= kQuietUs;
}

bool WantedRoutes::start_audit() {
  if (is_audited_ || audit_.is_running()) return false;
  is_audited_ = true;
  audit_.start(view_, *routing_, planes_, version_);
  return true;
}

std::optional<AuditedRoutes> WantedRoutes::take_audit() {
  auto audited = audit_.take(version_);
  if (audited) {
    fault_ = fault_of(audited->report);
    unreachable_pairs_ = audited->report.unreachable_pairs;
  }
  return audited;
}

}  // namespace railweave::control
