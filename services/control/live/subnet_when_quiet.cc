// SubnetController: what can wait until nothing has changed for a moment: the whole audit, digests, devices that were
// not accepted, tables that somebody else may have written.
#include <algorithm>

#include "services/control/live/subnet_controller.h"
#include "services/control/live/table_reading.h"

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

void SubnetController::check_idle(const ClusterState& state) {
  constexpr std::int64_t kQuietUs = 300'000;
  if (!wanted_) return;
  take_audit();
  if (now() - quiet_since_us_ < kQuietUs) return;
  if (!audited_ && !audit_.is_running()) {
    audited_ = true;
    status_.blocks_wanted = block_count(base_->scope(), links_.switches());
    audit_.start(view_, *wanted_, planes_of(base_->scope(), links_.switches()), wanted_version_);
    take_audit();
  }
  if (rediscover_) {  // for people: what is there that was not accepted
    rediscover_ = false;
    auto found = driver_->discover();
    if (!found) return disconnect(found.error());
    status_.discovered = found->topology;
    find_differences(state);
    publish();
  }
  if (mode_ == SubnetMode::opensm) {
    check_opensm(state);
    if (!driver_ || !matches_opensm_) return;
  }
  read_back_some(state);
}

// As /v1/routes names tables, where the fabric is this one subnet.
std::uint64_t SubnetController::digest_of(const Routing& routing) const {
  return routing.tables.digest(planes_of(base_->scope(), links_.switches()));
}

void SubnetController::take_audit() {
  const auto audited = audit_.take(wanted_version_);
  if (!audited) return;
  unsound_ = fault_of(audited->report);
  alarms_.set_subnet(
      "routes.unsound", AlarmSeverity::critical,
      unsound_.empty() || !writes() ? "" : "subnet " + options_.subnet + " has unsound routes: " + unsound_);
  unreachable_pairs_ = audited->report.unreachable_pairs;
  if (!status_.repairs.empty() && applied_ && same_tables(applied_->tables, wanted_->tables)) {
    status_.repairs.back().unreachable_pairs = unreachable_pairs_;
  }
  status_.wanted_digest = audited->digest;
  if (applied_ && unsynced_.empty()) {
    const bool same = same_tables(applied_->tables, wanted_->tables);
    status_.applied_digest = same ? audited->digest : digest_of(*applied_);
  }
  publish();
}

// All tables, some switches at a time: a repair may have to come in between. Observers see a drain through by what
// switches hold; others read now and then.
void SubnetController::read_back_some(const ClusterState& state) {
  constexpr std::size_t kSlice = 16;
  const std::span<const SwitchId> all = links_.switches();
  if (read_back_next_ == 0) {
    const bool drains_wait = !writes() && std::ranges::any_of(*state.drains, [](const auto& entry) {
      return entry.second.state != DrainState::drained && entry.first.kind != DrainKind::node;
    });
    const auto every = writes() ? options_.read_back_every : options_.sweep_every;
    const bool due = now() - read_back_at_us_ >= every.count() * 1000;
    if (!due || !(writes() || drains_wait || read_back_at_us_ == 0)) return;
    if (!applied_) unsynced_.insert(all.begin(), all.end());  // nothing is known of those not yet read
  }
  const auto slice = all.subspan(read_back_next_, std::min(kSlice, all.size() - read_back_next_));
  if (!read_back(slice)) return;
  read_back_next_ += slice.size();
  if (read_back_next_ < all.size()) return;
  read_back_next_ = 0;
  read_back_at_us_ = now();
  status_.read_back_us = with_.unix_us();
  status_.blocks_differing = differing_blocks(applied_->tables, wanted_->tables, all);
  status_.applied_digest = digest_of(*applied_);
  status_.applied = std::make_shared<const Routing>(*applied_);
  if (writes() && brought_up_ && status_.blocks_differing != 0) {
    program(state, {.text = "tables were written by somebody else", .start_us = now()}, 0);
  } else if (!writes()) {
    advance_drains(state);
  }
  if (driver_) publish();
}

}  // namespace railweave::control
