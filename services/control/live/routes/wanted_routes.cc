#include "services/control/live/routes/wanted_routes.h"

#include <algorithm>
#include <utility>

#include "fabric/routing/audit/changed_routes.h"
#include "fabric/routing/audit/old_levels.h"
#include "services/control/live/routes/dropped_ports.h"
#include "services/control/live/routes/table_reading.h"

namespace railweave::control {

void WantedRoutes::set_base(FabricRoutesPtr base, std::span<const fabric::SwitchId> switches) {
  base_ = std::move(base);
  planes_ = planes_of(base_->scope(), switches);
  routing_.reset();
  made_.reset();
  misled_.clear();
  prepared_.reset();
  known_lanes_.reset();
  old_levels_.reset();
}

Result<WantedRoutes::Update> WantedRoutes::compute(fabric::FabricView view, std::vector<fabric::LinkId> misled,
                                                   std::uint64_t view_version, std::int64_t now_us) {
  fabric::RoutingInput input = base_->input;
  input.view = view;
  const bool is_prepared = prepared_ && prepared_->input.view.is_based_alike(view);
  auto made = base_->choice.engine->reroute(is_prepared ? prepared_->routing
                                            : routing_  ? this->made()
                                                        : base_->routing,
                                            input);
  if (is_prepared) prepared_.reset();
  view_version_ = view_version;
  is_impossible_ = !made;
  if (!made) return std::unexpected(made.error());
  view_ = std::move(view);
  const bool is_verified = verify(*made);
  auto routing = misled.empty() ? *made : without(*made, misled, routing_ ? &*routing_ : nullptr);
  const Update update{.is_verified = is_verified, .is_same = routing_ && same_tables(routing_->tables, routing.tables)};
  if ((routing_ || known_lanes_) && !update.is_same) judge_old_levels(routing, update.is_verified);
  routing_ = std::move(routing);
  made_.reset();
  if (!misled.empty()) made_ = std::move(*made);
  misled_ = std::move(misled);
  computed_at_us_ = now_us;
  if (!update.is_same) {
    ++version_;
    unreachable_pairs_.reset();
    is_audited_ = false;
  }
  return update;
}

// Senders are told nothing of routes that are not written.
void WantedRoutes::judge_old_levels(const fabric::Routing& now, bool is_verified) {
  if (!is_verified) {
    if (!known_lanes_) known_lanes_ = routing_->lanes;
    return;
  }
  const fabric::Lanes& known = known_lanes_ ? *known_lanes_ : routing_->lanes;
  old_levels_ = fabric::audit_old_levels(view_, planes_, known, now);
  known_lanes_.reset();
}

// What is dropped closes no circle, and is for end ports that are cut off. What changed, where the routes before are verified and
// the rest follows from them; else all of it.
bool WantedRoutes::verify(const fabric::Routing& routing) {
  if (routing_ && fault_.empty()) {
    const auto checked = fabric::check_changed_routes(view_, made(), routing, planes_);
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

unsigned WantedRoutes::lanes_used() const { return lanes_used_by(*routing_, planes_); }

unsigned lanes_used_by(const fabric::Routing& routing, std::span<const fabric::PlaneId> planes) {
  unsigned most = 1;
  for (const fabric::PlaneId plane : planes) {
    const auto& lanes = routing.lanes.planes;
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
