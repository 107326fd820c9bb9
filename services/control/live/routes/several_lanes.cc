// What SubnetRoutes does for routes on several lanes, in direct mode: ports first, then the tables that need them.
#include <string>
#include <utility>

#include <fmt/core.h>

#include "services/control/live/routes/subnet_routes.h"
#include "services/control/live/routes/table_reading.h"
#include "services/control/views/one_lane_routes.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

// The longest that a step may take, in which no failure is repaired; and that tables which carry something wait for ports.
constexpr std::int64_t kStepUs = 2'000'000, kPatienceUs = 30'000'000;
constexpr std::int64_t kLookEveryUs = 1'000'000, kAskEveryUs = 100'000, kAskRefusedEveryUs = 5'000'000;

// Who sends does not know levels of routes that were never there.
Lanes without_levels(Lanes lanes) {
  for (PlaneLanes& plane : lanes.planes) plane.path_level.clear();
  return lanes;
}

}  // namespace

void SubnetRoutes::choose_lanes() {
  lanes_.several.reset();
  lanes_.are_used = false;
  lanes_.needed = 1;
  lanes_.since_us = 0;
  lanes_.why.clear();
  if (context_.mode() != SubnetMode::direct) return;
  const auto& planes = wanted_.base()->routing.lanes.planes;
  for (const PlaneId plane : wanted_.planes()) {
    if (plane.index() < planes.size()) lanes_.needed = std::max<unsigned>(lanes_.needed, planes[plane.index()].lanes);
  }
  if (lanes_.needed == 1) return;
  lanes_.several = wanted_.base();
  lanes_.are_used = true;
  if (!context_.options.several_lanes)
    use_one_lane("several_lanes is false; set it where every sender uses the service level of its path");
}

// Where there are no such routes, those on several lanes stay wanted, and are not cleared.
bool SubnetRoutes::use_one_lane(const std::string& why) {
  auto single = on_one_lane(lanes_.several, wanted_.planes());
  lanes_.are_used = false;
  lanes_.since_us = 0;
  lanes_.why = why;
  if (!single) return false;
  wanted_.set_base(std::move(*single), links_.switches());
  return true;
}

Result<bool> SubnetRoutes::ready_lanes(const ClusterState& state) {
  if (!lanes_.ready) return true;
  const auto held = lanes_.ready(state, wanted_.base()->input, wanted_.routing(), kStepUs);
  if (!held) return std::unexpected(held.error());
  if (!context_.writes() || !context_.mode_holds()) return false;
  if (held->are_held) {
    lanes_.since_us = 0;
    if (applied_.routing().lanes.used() <= 1) applied_.set_lanes(without_levels(wanted_.routing().lanes));
    return true;
  }
  const std::int64_t now = context_.now();
  if (lanes_.since_us == 0) lanes_.since_us = now;
  lanes_.next_us = now + kAskEveryUs;
  const bool are_written = same_tables(applied_.routing().tables, wanted_.routing().tables);
  const bool carry_nothing = control::carry_nothing(applied_.routing().tables, links_.switches());
  const bool is_patient = are_written || (!carry_nothing && now - lanes_.since_us < kPatienceUs);
  if (held->refusal.empty() && is_patient) return false;
  const std::string why = held->refusal.empty() ? "ports are still being given the tables for them" : held->refusal;
  context_.log().warn("routes on {} lanes wait: {}", lanes_.needed, why);
  if (!held->refusal.empty()) lanes_.next_us = now + kAskRefusedEveryUs;
  if (!use_one_lane(why)) return false;
  const RepairCause cause{.text = "on one lane: " + why, .start_us = now};
  if (auto done = bring_to_wanted(state, cause); !done) return std::unexpected(done.error());
  return false;
}

Result<void> SubnetRoutes::keep_lanes(const ClusterState& state) {
  const bool is_due = lanes_.several && lanes_.ready && context_.now() >= lanes_.next_us;
  if (!is_due || context_.mode() != SubnetMode::direct || !context_.options.several_lanes) return {};
  if (!ports_.is_done() || !applied_.are_known() || !wanted_.exist()) return {};
  const std::int64_t now = context_.now();
  lanes_.next_us = now + kAskEveryUs;
  if (lanes_.are_used) {
    if (!cleared() || wanted_.lanes_used() <= 1) return {};
    if (lanes_.since_us == 0) {  // a switch that did not answer may be back with other maps, and tables as wanted
      const auto held = lanes_.ready(state, wanted_.base()->input, wanted_.routing(), 0);
      if (!held) return std::unexpected(held.error());
      lanes_.next_us = now + kLookEveryUs;
      if (held->are_held) return {};
    }
    return program(state, {.text = "ports have the lanes of routes", .start_us = now}, 0);
  }
  const auto held = lanes_.ready(state, lanes_.several->input, lanes_.several->routing, 0);
  if (!held) return std::unexpected(held.error());
  if (!held->are_held) {
    if (!held->refusal.empty()) lanes_.next_us = now + kAskRefusedEveryUs;
    if (!held->refusal.empty() && held->refusal != lanes_.why) {
      lanes_.why = held->refusal;
      show_lanes();
    }
    return {};
  }
  context_.log().info("ports have the tables for {} lanes", lanes_.needed);
  lanes_.are_used = true;
  lanes_.why.clear();
  wanted_.set_base(lanes_.several, links_.switches());
  return bring_to_wanted(state, {.text = "ports have the lanes of routes", .start_us = now});
}

// Routes of this shape, and those that are used instead.
void SubnetRoutes::show_lanes() {
  SubnetStatus& status = context_.status();
  const bool is_direct = context_.mode() == SubnetMode::direct && context_.writes();
  status.lanes.reset();
  if (is_direct && wanted_.exist()) {
    status.lanes = LanesStatus{
        .used = wanted_.lanes_used(), .needed = std::max(lanes_.needed, wanted_.lanes_used()), .problem = lanes_.why};
    if (lanes_.levels_at_us != 0) status.lanes->old_levels = wanted_.old_levels();
    status.lanes->old_levels_audited_us = lanes_.levels_at_us;
  }
  context_.alarms().set_subnet(
      "routes.onOneLane", AlarmSeverity::warning,
      !lanes_.are_lacking() || !context_.writes()
          ? ""
          : fmt::format("{}: routes of this shape need {} lanes; those written go up and then down, on one lane: {}",
                        context_.name(), lanes_.needed, lanes_.why));
}

}  // namespace railweave::control
