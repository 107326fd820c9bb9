// What SubnetRoutes does for routes on several lanes, in direct mode: ports first, then the tables that need them.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "services/control/live/routes/subnet_routes.h"
#include "services/control/live/routes/table_reading.h"
#include "services/control/views/one_lane_routes.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

// The longest that a step may take, in which no failure is repaired; and that tables which carry something wait for ports.
constexpr std::int64_t kStepUs = 2'000'000, kPatienceUs = 30'000'000;
constexpr std::int64_t kLookEveryUs = 1'000'000, kAskEveryUs = 100'000, kAskRefusedEveryUs = 5'000'000;

// Who asked the subnet's administration just before may still be on its way.
constexpr std::int64_t kTellUs = 2'000'000;
constexpr const char* kTellFirst = "senders are to be told of service levels first";

// Who sends does not know levels of routes that were never there.
Lanes without_levels(Lanes lanes) {
  for (PlaneLanes& plane : lanes.planes) plane.path_level.clear();
  return lanes;
}

// Else packets of all paths have level 0, and their lane follows from the ports that they pass.
bool have_levels(const Lanes& lanes) {
  return std::ranges::any_of(lanes.planes, [](const PlaneLanes& plane) { return !plane.path_level.empty(); });
}

// That may have asked before senders were told these levels, by durable times, so that a restart waits for them too.
std::set<JobId> jobs_before(const ClusterState& state, const SubnetTables& told) {
  std::set<JobId> ids;
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (job->holds_gpus() && job->started_us <= told.levels_since_us + kTellUs) ids.insert(job->id);
    return true;
  });
  return ids;
}

}  // namespace

void SubnetRoutes::choose_lanes() {
  lanes_.several.reset();
  lanes_.are_used = false;
  lanes_.needed = 1;
  lanes_.since_us = 0;
  lanes_.are_levels_known = false;
  lanes_.why.clear();
  lanes_.telling = {};
  if (context_.mode() != SubnetMode::direct) return;
  lanes_.needed = lanes_used_by(wanted_.base()->routing, wanted_.planes());
  if (lanes_.needed == 1) return;
  lanes_.several = wanted_.base();
  lanes_.are_used = true;
  if (!context_.options.several_lanes)
    use_one_lane("several_lanes is false; set it where every sender uses the service level of its path");
}

// Where there are no such routes, those on several lanes stay wanted, and are not cleared.
bool SubnetRoutes::use_one_lane(const std::string& why) {
  auto single = lanes_.single ? Result<FabricRoutesPtr>(lanes_.single) : on_one_lane(lanes_.several, wanted_.planes());
  lanes_.are_used = false;
  lanes_.since_us = 0;
  lanes_.why = why;
  lanes_.telling = {};
  if (!single) return false;
  wanted_.set_base(std::move(*single), links_.switches());
  return true;
}

std::string SubnetRoutes::levels_name() const {
  return lanes_.several ? fmt::format("{} on {} lanes", lanes_.several->choice.engine->name(), lanes_.needed) : "";
}

// Whoever asks is told those of the tables as they are known here; before that, it stays what it was.
std::string SubnetRoutes::levels_told(const ClusterState& state) const {
  if (!applied_.are_known()) {
    const SubnetTables* present = state.tables(context_.options.subnet);
    return present == nullptr ? "" : present->levels;
  }
  if (!lanes_.several || context_.mode() != SubnetMode::direct) return "";
  return have_levels(applied_.routing().lanes) ? levels_name() : "";
}

// Tables that carry nothing have no senders. Those of before a service that kept this were as they are to be.
bool SubnetRoutes::know_senders_levels(const ClusterState& state) const {
  if (!have_levels(wanted_.routing().lanes)) return true;
  if (carry_nothing(applied_.routing().tables, links_.switches())) return true;
  if (same_tables(applied_.routing().tables, wanted_.routing().tables)) return true;
  return are_levels_told(state) && jobs_before(state, *state.tables(context_.options.subnet)).empty();
}

bool SubnetRoutes::are_levels_told(const ClusterState& state) const {
  const SubnetTables* told = state.tables(context_.options.subnet);
  return told != nullptr && told->levels == levels_name();
}

// On one lane, where any level is as good.
void SubnetRoutes::keep_telling() {
  if (lanes_.telling.since_us != 0) applied_.set_lanes(lanes_.telling.levels);
}

bool SubnetRoutes::tell_levels(const ClusterState& state) {
  if (!have_levels(lanes_.several->routing.lanes)) return true;
  RouteLanes::Telling& telling = lanes_.telling;
  const std::string why = lanes_.why;
  if (telling.since_us == 0) {
    telling.since_us = context_.now();
    telling.levels = lanes_.several->routing.lanes;
    keep_telling();
    lanes_.why = kTellFirst;
    context_.log().info("ports have the tables for {} lanes; senders are told of their levels", lanes_.needed);
  }
  // Durable before a table needs them, so that a restart knows it.
  if (!telling.is_over && context_.now() - telling.since_us >= kTellUs && are_levels_told(state)) {
    telling.is_over = true;
    telling.jobs_before = jobs_before(state, *state.tables(context_.options.subnet));
  }
  std::erase_if(telling.jobs_before, [&](JobId id) {
    const JobPtr job = state.jobs.find(id);
    return job == nullptr || !job->holds_gpus();
  });
  if (!telling.jobs_before.empty()) {
    lanes_.why = fmt::format("{} started before senders were told of service levels",
                             plural(telling.jobs_before.size(), "job", "jobs"));
  }
  if (telling.is_over) lanes_.next_us = context_.now() + kLookEveryUs;
  if (lanes_.why != why) {
    show_lanes();
    context_.board.publish();
  }
  return telling.is_over && telling.jobs_before.empty();
}

Result<bool> SubnetRoutes::ready_lanes(const ClusterState& state) {
  if (!lanes_.ready) return true;
  // Whoever sends by tables as found has other levels, which may close a circle of waits on the new ones.
  if (!lanes_.are_levels_known && !know_senders_levels(state) && use_one_lane(kTellFirst)) {
    applied_.set_lanes({});
    if (are_levels_told(state)) {  // before a restart, which goes on from there
      lanes_.telling = {.since_us = context_.now(), .levels = lanes_.several->routing.lanes};
      keep_telling();
    }
    const RepairCause cause{.text = std::string("on one lane: ") + kTellFirst, .start_us = context_.now()};
    if (auto done = bring_to_wanted(state, cause); !done) return std::unexpected(done.error());
    return false;
  }
  lanes_.are_levels_known = true;
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
  doubt_engine(held->refusal);
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
    doubt_engine(held->refusal);
    if (!held->refusal.empty() && held->refusal != lanes_.why) {
      lanes_.why = held->refusal;
      show_lanes();
    }
    return {};
  }
  if (!tell_levels(state)) return {};
  context_.log().info("ports have the tables for {} lanes, and senders their levels", lanes_.needed);
  lanes_.are_used = true;
  lanes_.are_levels_known = true;
  lanes_.why.clear();
  wanted_.set_base(lanes_.several, links_.switches());
  if (lanes_.telling.since_us != 0) wanted_.set_known_lanes(std::exchange(lanes_.telling, {}).levels);
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
