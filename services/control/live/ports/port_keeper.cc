#include "services/control/live/ports/port_keeper.h"

#include <algorithm>
#include <utility>

#include "services/control/live/ports/port_comparison.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

// The longest time of a slice: a link that fails meanwhile is repaired that much later.
constexpr std::int64_t kSliceUs = 5'000;
constexpr std::size_t kMaxAtOnce = 64;
constexpr std::int64_t kFirstWaitUs = 30'000'000, kLongestWaitUs = 600'000'000;
// What another program has changed is looked at again this long after it was written.
constexpr std::int64_t kConfirmUs = 5'000'000;
constexpr std::int64_t kIdleUs = 100'000;  // between searches for ports to look at
// The pauses between looks at ports that another program writes. They fail once they have waited as long as the last but one.
constexpr std::int64_t kFirstReadWaitUs = 500'000, kLongestReadWaitUs = 16'000'000;

// The input ports from which other service levels pass than before.
void add_changed(std::vector<std::uint8_t>& in_ports, const IngressFilter& before, const IngressFilter& after) {
  for (unsigned in = 0; in < std::max(before.ports(), after.ports()); ++in) {
    if (before.from(in) != after.from(in)) in_ports.push_back(static_cast<std::uint8_t>(in));
  }
}

}  // namespace

void PortKeeper::set_written(Entry& entry, bool is_written) {
  if (entry.is_written == is_written) return;
  entry.is_written = is_written;
  ++revision_;
  is_written ? ++written_ : --written_;
}

void PortKeeper::set_changed(Entry& entry, std::string what) {
  if (entry.changed.empty() != what.empty()) what.empty() ? --changed_ : ++changed_;
  if (entry.changed != what) ++revision_;
  entry.changed = std::move(what);
}

void PortKeeper::put(std::uint32_t index) {
  Entry& entry = entries_[index];
  // Skips stages that the port has nothing for.
  if (entry.next == Stage::sl_to_vl && !entry.wanted.sl_to_vl) entry.next = Stage::arbitration;
  if (entry.next == Stage::arbitration && !entry.wanted.arbitration) entry.next = Stage::pkeys;
  if (entry.next == Stage::pkeys && !entry.wanted.pkeys) entry.next = Stage::done;
  ++entry.ticket;
  if (entry.next == Stage::done) {
    entry.wait_us = 0;
    if (entry.changed.empty()) set_written(entry, true);  // else the next look decides
    return;
  }
  due_[static_cast<std::size_t>(entry.next)].push_back({index, entry.ticket});
}

void PortKeeper::restart(std::uint32_t index, Stage stage, bool is_written) {
  Entry& entry = entries_[index];
  entry.next = std::min(entry.next, stage);
  entry.changed_in_ports.reset();
  entry.failure.clear();
  set_written(entry, is_written);
  put(index);
}

std::vector<PortTables> PortKeeper::wanted() const {
  std::vector<PortTables> tables;
  tables.reserve(entries_.size());
  for (const Entry& entry : entries_) tables.push_back(entry.wanted);
  return tables;
}

void PortKeeper::want(std::vector<PortTables> ports) {
  ++wanted_revision_;
  std::ranges::sort(ports, {}, &PortTables::port);
  std::vector<Entry> before = std::exchange(entries_, {});
  written_ = 0;
  ++revision_;
  for (auto& due : due_) due.clear();
  later_.clear();
  entries_.reserve(ports.size());
  changed_ = 0;
  next_look_ = 0;
  auto old = before.begin();
  for (PortTables& wanted : ports) {
    const auto index = static_cast<std::uint32_t>(entries_.size());
    Entry& entry = entries_.emplace_back();
    entry.wanted = std::move(wanted);
    while (old != before.end() && old->wanted.port < entry.wanted.port) ++old;
    Stage stage = Stage::sl_to_vl;
    if (old != before.end() && old->wanted.port == entry.wanted.port) {
      stage = old->next;
      if (old->wanted.pkeys != entry.wanted.pkeys) stage = std::min(stage, Stage::pkeys);
      if (old->wanted.arbitration != entry.wanted.arbitration) stage = std::min(stage, Stage::arbitration);
      if (old->wanted.sl_to_vl != entry.wanted.sl_to_vl || old->wanted.from_ports != entry.wanted.from_ports) {
        stage = Stage::sl_to_vl;
      } else if (old->wanted.ingress != entry.wanted.ingress) {
        stage = Stage::sl_to_vl;
        const bool is_known = old->next != Stage::sl_to_vl || old->changed_in_ports;
        if (is_known) {
          auto& in_ports = entry.changed_in_ports.emplace();
          if (old->next == Stage::sl_to_vl) in_ports = *old->changed_in_ports;
          add_changed(in_ports, old->wanted.ingress, entry.wanted.ingress);
        }
      } else {
        entry.changed_in_ports = old->changed_in_ports;
      }
      entry.wait_us = old->wait_us;
      entry.keeps_high_limit = old->keeps_high_limit;
      entry.looked_us = old->looked_us;
      set_changed(entry, std::move(old->changed));
      if (stage == old->next && !old->failure.empty()) {  // other ports' changes do not shorten its wait
        entry.next = stage;
        entry.failure = std::move(old->failure);
        entry.retry_us = old->retry_us;
        later_.emplace(entry.retry_us, Place{index, entry.ticket});
        continue;
      }
    }
    entry.next = stage;
    put(index);
  }
}

void PortKeeper::forget(Guid device) {
  const auto of_device =
      std::ranges::equal_range(entries_, device, {}, [](const Entry& entry) { return entry.wanted.port.device; });
  for (auto& entry : of_device) {
    entry.wait_us = 0;
    restart(static_cast<std::uint32_t>(&entry - entries_.data()), Stage::sl_to_vl, false);
  }
}

void PortKeeper::forget_all() {
  for (std::uint32_t index = 0; index < entries_.size(); ++index) restart(index, Stage::sl_to_vl, false);
}

void PortKeeper::look_at_all() {
  for (Entry& entry : entries_) entry.looked_us = 0;
  next_look_us_ = 0;
}

void PortKeeper::try_again(std::int64_t now_us) {
  std::multimap<std::int64_t, Place> later = std::exchange(later_, {});
  for (const auto& [time, place] : later) {
    if (is_current(place)) later_.emplace(now_us, place);
  }
}

bool PortKeeper::is_due(std::int64_t now_us) const {
  const bool waiting = std::ranges::any_of(due_, [](const auto& due) { return !due.empty(); });
  return waiting || (!later_.empty() && later_.begin()->first <= now_us);
}

void PortKeeper::postpone(std::uint32_t index, std::int64_t now_us, std::string reason) {
  Entry& entry = entries_[index];
  entry.failure = std::move(reason);
  ++revision_;
  entry.wait_us = reads_ ? std::clamp(entry.wait_us * 2, kFirstReadWaitUs, kLongestReadWaitUs)
                         : std::clamp(entry.wait_us * 2, kFirstWaitUs, kLongestWaitUs);
  ++entry.ticket;
  set_written(entry, false);
  entry.retry_us = now_us + entry.wait_us;
  later_.emplace(entry.retry_us, Place{index, entry.ticket});
}

std::vector<std::uint32_t> PortKeeper::take_slice(FabricDriver& driver, std::int64_t now_us,
                                                  const std::function<bool(Guid)>& is_silent, Stage& stage) {
  while (!later_.empty() && later_.begin()->first <= now_us) {
    const Place place = later_.begin()->second;
    later_.erase(later_.begin());
    if (is_current(place)) put(place.entry);
  }
  std::vector<std::uint32_t> slice;
  for (std::size_t s = 0; s < due_.size() && slice.empty(); ++s) {
    stage = static_cast<Stage>(s);
    while (!due_[s].empty() && slice.size() < slice_) {
      const Place place = due_[s].front();
      due_[s].pop_front();
      if (!is_current(place)) continue;
      const Guid device = entries_[place.entry].wanted.port.device;
      if (!driver.is_present(device) || is_silent(device)) {
        postpone(place.entry, now_us, driver.is_present(device) ? "does not answer" : "is not in the subnet");
      } else {
        slice.push_back(place.entry);
      }
    }
  }
  return slice;
}

Result<void> PortKeeper::write_some(FabricDriver& driver, const Clock& now_us,
                                    const std::function<bool(Guid)>& is_silent) {
  Stage stage = Stage::sl_to_vl;
  const std::int64_t start = now_us();
  const auto slice = take_slice(driver, start, is_silent, stage);
  if (slice.empty()) return {};
  std::vector<PortTables> tables;
  for (const std::uint32_t index : slice) {
    const PortTables& wanted = entries_[index].wanted;
    PortTables& one = tables.emplace_back(PortTables{.port = wanted.port});
    if (stage == Stage::sl_to_vl) {
      one.sl_to_vl = wanted.sl_to_vl;
      one.ingress = wanted.ingress;
      one.from_ports = wanted.from_ports;
      one.changed_in_ports = entries_[index].changed_in_ports;
    }
    if (stage == Stage::arbitration) one.arbitration = wanted.arbitration;
    if (stage == Stage::pkeys) one.pkeys = wanted.pkeys;
  }
  const auto report = reads_ ? compare_ports(driver, tables) : driver.program_ports(tables);
  if (!report) {
    for (const std::uint32_t index : slice) put(index);
    return std::unexpected(report.error());
  }
  since_.blocks += report->written;
  since_.asked += report->asked;
  const std::int64_t end = now_us();
  for (std::size_t i = 0; i < slice.size(); ++i) {
    Entry& entry = entries_[slice[i]];
    const PortTablesOutcome& outcome = report->ports[i];
    if (!outcome.complete()) {
      postpone(slice[i], end, outcome.reason);
      continue;
    }
    const auto is_new = [](TableOutcome table) { return table == TableOutcome::applied; };
    if (outcome.high_limit == TableOutcome::notKept) entry.keeps_high_limit = false;
    entry.differed = entry.differed || is_new(outcome.sl_to_vl) || is_new(outcome.arbitration) || is_new(outcome.pkeys);
    entry.next = static_cast<Stage>(static_cast<std::uint8_t>(stage) + 1);
    entry.changed_in_ports.reset();
    entry.failure.clear();
    put(slice[i]);
    if (entry.next == Stage::done && std::exchange(entry.differed, false)) ++since_.ports;
  }
  if (end - start > kSliceUs) slice_ = std::max<std::size_t>(1, slice_ / 2);
  if (2 * (end - start) < kSliceUs) slice_ = std::min(kMaxAtOnce, slice_ * 2);
  return {};
}

std::vector<std::uint32_t> PortKeeper::take_looks(FabricDriver& driver, std::int64_t now_us, std::int64_t every_us,
                                                  const std::function<bool(Guid)>& is_silent) {
  std::vector<std::uint32_t> looks;
  for (std::size_t n = 0; n < entries_.size() && looks.size() < look_slice_; ++n) {
    const auto index = static_cast<std::uint32_t>((next_look_ + n) % entries_.size());
    Entry& entry = entries_[index];
    const std::int64_t wait_us = entry.changed.empty() ? every_us : std::min(every_us, kConfirmUs);
    if (entry.next != Stage::done || (entry.looked_us != 0 && now_us - entry.looked_us < wait_us)) continue;
    const Guid device = entry.wanted.port.device;
    if (!driver.is_present(device) || is_silent(device)) continue;  // sweeps say so
    entry.looked_us = now_us;
    looks.push_back(index);
  }
  if (!looks.empty()) next_look_ = looks.back() + 1;
  return looks;
}

Result<bool> PortKeeper::look_some(FabricDriver& driver, const Clock& now_us, std::int64_t every_us,
                                   const std::function<bool(Guid)>& is_silent) {
  const std::int64_t start = now_us();
  if (start < next_look_us_ || entries_.empty()) return false;
  const auto looks = take_looks(driver, start, every_us, is_silent);
  if (looks.empty()) {
    next_look_us_ = start + kIdleUs;
    return false;
  }
  std::vector<PortTables> tables;
  for (const std::uint32_t index : looks) {
    PortTables& one = tables.emplace_back(entries_[index].wanted);
    if (one.arbitration && !entries_[index].keeps_high_limit) one.arbitration->high_limit.reset();
  }
  const auto report = compare_ports(driver, tables);
  if (!report) return std::unexpected(report.error());
  const std::uint64_t revision = revision_;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    Entry& entry = entries_[looks[i]];
    const PortTablesOutcome& outcome = report->ports[i];
    const auto is_any = [&](TableOutcome what) {
      return outcome.sl_to_vl == what || outcome.arbitration == what || outcome.high_limit == what ||
             outcome.pkeys == what;
    };
    if (is_any(TableOutcome::silent)) continue;  // it is looked at again
    if (is_any(TableOutcome::mismatch)) {
      set_changed(entry, outcome.reason);
      restart(looks[i], Stage::sl_to_vl, false);
    } else {
      set_changed(entry, {});
      set_written(entry, true);
    }
  }
  const std::int64_t end = now_us();
  if (end - start > kSliceUs) look_slice_ = std::max<std::size_t>(1, look_slice_ / 2);
  if (2 * (end - start) < kSliceUs) look_slice_ = std::min(kMaxAtOnce, look_slice_ * 2);
  next_look_us_ = start + static_cast<std::int64_t>(report->asked) * 1'000'000 / kMaxPerSecond;
  return revision_ != revision;
}

std::vector<PortKeeper::Change> PortKeeper::changes() const {
  std::vector<Change> changes;
  if (changed_ == 0) return changes;
  for (const Entry& entry : entries_) {
    if (!entry.changed.empty()) changes.push_back({entry.wanted.port, entry.changed});
  }
  return changes;
}

PortKeeper::Failure PortKeeper::failure() const {
  Failure failure;
  for (const auto& [time, place] : later_) {
    if (!is_current(place)) continue;
    if (reads_ && entries_[place.entry].wait_us < kLongestReadWaitUs / 2) continue;
    if (failure.ports++ == 0 || entries_[place.entry].wanted.port < failure.port) {
      failure.port = entries_[place.entry].wanted.port;
      failure.reason = entries_[place.entry].failure;
    }
  }
  return failure;
}

PortKeeper::LaneTables PortKeeper::lane_tables(const std::function<bool(PortRef)>& is_asked) const {
  LaneTables tables;
  for (const Entry& entry : entries_) {
    if (entry.next > Stage::arbitration || !is_asked(entry.wanted.port)) continue;
    ++tables.due;
    if (entry.failure.empty() || tables.refused_by) continue;
    tables.refused_by = entry.wanted.port;
    tables.reason = entry.failure;
  }
  return tables;
}

std::vector<PendingPort> PortKeeper::pending() const {
  std::vector<PendingPort> pending;
  if (written_ == entries_.size()) return pending;
  for (const Entry& entry : entries_) {
    if (entry.is_written) continue;
    const std::string& why = entry.failure.empty() ? entry.changed : entry.failure;
    pending.push_back({entry.wanted.port.device, entry.wanted.port.port, why});
  }
  return pending;
}

PortKeeper::Written PortKeeper::take_written() { return std::exchange(since_, {}); }

}  // namespace railweave::control
