#include "services/control/live/links/subnet_health.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

#include <fmt/core.h>

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

struct KindText {
  std::string_view kind, what;
  bool load;
};
constexpr std::array<KindText, health::kAlarmKinds> kKinds = {{
    {"link.symbolErrors", "symbol errors an hour", false},
    {"link.recoveries", "link error recoveries an hour", false},
    {"link.downed", "times down an hour", false},
    {"link.receiveErrors", "receive errors an hour", false},
    {"link.discards", "packets discarded an hour", false},
    {"link.vl15Dropped", "management packets dropped an hour", false},
    {"link.sustainedLoad", "average load: this link needs capacity", true},
    {"link.peakLoad", "peak load", true},
    {"link.waiting", "of the time without credit to send", true},
}};

constexpr std::int64_t kFirstAbsenceUs = 30'000'000, kLongestAbsenceUs = 600'000'000;

std::string amount(double value, bool load) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), load ? "%.0f%%" : "%.4g", load ? value * 100 : value);
  return text.data();
}

}  // namespace

SubnetHealth::SubnetHealth(const SubnetLinks& links, const health::ArchiveOptions& archive, const SubnetHealth* before)
    : topology_(links.topology()), history_(*links.topology()), archive_(2 * links.cables().size(), archive) {
  const Topology& t = *topology_;
  for (const auto& cable : links.cables()) {
    for (const PortId port : {t.a(cable.link), t.b(cable.link)}) {
      const bool is_a = t.switch_of(port) && t.guid(t.switch_of(port)) == cable.a && t.number(port) == cable.a_port;
      const PortRef ref{is_a ? cable.a : cable.b, static_cast<std::uint8_t>(is_a ? cable.a_port : cable.b_port)};
      if (ref.device.known()) ports_.push_back({ref, port, cable.link});
    }
  }
  // By device, as devices answer several requests at once.
  std::ranges::sort(ports_, {}, &Watched::ref);
  position_of_.assign(t.switch_ports().size() + t.hca_ports().size(), kNotWatched);
  for (std::uint32_t i = 0; i < ports_.size(); ++i) {
    if (ports_[i].port.index() < position_of_.size()) position_of_[ports_[i].port.index()] = i;
    if (before == nullptr) continue;
    const auto was = std::ranges::lower_bound(before->ports_, ports_[i].ref, {}, &Watched::ref);
    if (was == before->ports_.end() || was->ref != ports_[i].ref) continue;
    archive_.take_over(i, before->archive_, static_cast<std::size_t>(was - before->ports_.begin()));
  }
}

Result<bool> SubnetHealth::poll(FabricDriver& driver, std::int64_t now_us, std::int64_t unix_us,
                                std::int64_t every_us) {
  if (next_ == 0) {
    if (ports_.empty() || (round_at_us_ != 0 && now_us - round_at_us_ < every_us)) return false;
    round_at_us_ = now_us;
  }
  const auto slice = std::span(ports_).subspan(next_, std::min(kSlice, ports_.size() - next_));
  next_ = next_ + slice.size() == ports_.size() ? 0 : next_ + slice.size();
  std::vector<PortRef> asked;
  std::vector<const Watched*> watched_ports;
  for (const Watched& watched : slice) {
    const LinkReading link = driver.read_link(watched.ref.device, watched.ref.port);
    if (!link.active) continue;
    const RateMbps accepted = topology_->rate(watched.link), seen = link.spec.rate;
    const bool is_slower = seen.value() > 0 && (accepted.value() == 0 || seen < accepted);
    history_.set_rate(watched.port, is_slower ? seen : accepted);  // load is a share of what the link carries
    if (const auto absent = absent_.find(watched.ref.device);
        absent != absent_.end() && now_us < absent->second.until_us) {
      continue;
    }
    asked.push_back(watched.ref);
    watched_ports.push_back(&watched);
  }
  std::vector<health::AlarmChange> changes;
  if (!asked.empty()) {
    auto readings = driver.read_counters(asked);
    if (!readings) return std::unexpected(readings.error());
    for (std::size_t i = 0; i < readings->size(); ++i) {
      took(*watched_ports[i], (*readings)[i], unix_us, changes);
      if ((*readings)[i].answered) {
        absent_.erase(watched_ports[i]->ref.device);
        continue;
      }
      Absence& absence = absent_[watched_ports[i]->ref.device];
      if (absence.since_us == 0) absence.since_us = now_us;
      absence.reason = (*readings)[i].reason;
      if (now_us < absence.until_us) continue;  // another port of it
      absence.wait_us = std::clamp(absence.wait_us * 2, kFirstAbsenceUs, kLongestAbsenceUs);
      absence.until_us = now_us + absence.wait_us;
    }
  }
  return !changes.empty() || next_ == 0;
}

void SubnetHealth::took(const Watched& watched, const CounterReading& reading, std::int64_t unix_us,
                        std::vector<health::AlarmChange>& changes) {
  if (!reading.answered) return;
  const auto taken = history_.take(watched.port, reading.counts, reading.at_us);
  if (taken == health::CounterHistory::Taken::outdated) return;
  const auto trend = history_.trend(watched.port);
  if (taken == health::CounterHistory::Taken::rated) {
    rules_.judge(watched.port, watched.link, trend, reading.at_us, changes);
  }
  const PortCounts& counts = reading.counts;
  PortCounters out{.read_us = unix_us,
                   .sent_bytes = counts.transmit_bytes,
                   .received_bytes = counts.receive_bytes,
                   .sent_packets = counts.transmit_packets,
                   .received_packets = counts.receive_packets,
                   .symbol_errors = counts[ErrorCounter::symbol_errors],
                   .link_recoveries = counts[ErrorCounter::link_recoveries],
                   .link_downed = counts[ErrorCounter::link_downed],
                   .receive_errors = counts[ErrorCounter::receive_errors],
                   .discards = counts[ErrorCounter::transmit_discards],
                   .wait_ticks = counts.transmit_wait};
  if (taken == health::CounterHistory::Taken::rated) {
    const auto& rates = history_.rates(watched.port);
    out.sent_gbps = rates.transmit_bytes_per_s * 8e-9;
    out.received_gbps = rates.receive_bytes_per_s * 8e-9;
    out.utilisation = rates.transmit_utilisation;
    out.average_utilisation = trend.transmit_average;
    out.peak_utilisation = trend.transmit_peak;
    out.errors_per_hour = trend.errors_per_hour;
    archive_reading(static_cast<std::uint32_t>(&watched - ports_.data()), rates, unix_us);
  }
  const std::lock_guard lock(mutex_);
  latest_.insert_or_assign(watched.port, out);
}

// rates: of the interval that ended now.
void SubnetHealth::archive_reading(std::uint32_t position, const health::PortRates& rates, std::int64_t unix_us) {
  constexpr float kHourS = 3600;
  health::ArchiveEntry entry{.from_us = std::max<std::int64_t>(unix_us - std::llround(rates.seconds * 1e6F), 0),
                             .to_us = unix_us,
                             .load = rates.transmit_utilisation,
                             .waiting = rates.wait_fraction,
                             .errors = {}};
  std::ranges::transform(rates.errors_per_hour, entry.errors.begin(), [&](float per_hour) {
    return static_cast<std::uint32_t>(std::lround(per_hour * rates.seconds / kHourS));
  });
  const std::lock_guard lock(mutex_);
  archive_.add(position, entry);
}

std::vector<SubnetHealth::Unread> SubnetHealth::unread(std::int64_t now_us, std::int64_t at_least_us) const {
  std::vector<Unread> unread;
  for (const auto& [device, absence] : absent_) {
    const std::int64_t for_us = now_us - absence.since_us;
    if (for_us >= at_least_us) unread.push_back({device, absence.reason, for_us});
  }
  return unread;
}

std::map<std::string, std::vector<Alarm>> SubnetHealth::alarms(
    const std::function<std::vector<std::string>(LinkId)>& jobs) const {
  std::map<std::string, std::vector<Alarm>> all;
  for (const KindText& kind : kKinds) all[std::string(kind.kind)];  // none: those that stand are over
  for (const health::Alarm& raised : rules_.raised()) {
    const KindText& kind = kKinds[static_cast<std::size_t>(raised.kind)];
    const std::string port = topology_->port_text(raised.port);
    Alarm alarm{.subject_kind = "port", .subject_id = port};
    alarm.severity =
        raised.severity == health::AlarmSeverity::critical ? AlarmSeverity::critical : AlarmSeverity::warning;
    // The level, not the value: an alarm is reported when it changes, not with every reading.
    alarm.text = fmt::format("port {} of link {}: more than {} {}", port,
                             raised.link ? topology_->link_text(raised.link) : "none", amount(raised.limit, kind.load),
                             kind.what);
    if (raised.link) alarm.jobs = jobs(raised.link);
    all[std::string(kind.kind)].push_back(std::move(alarm));
  }
  return all;
}

std::optional<PortCounters> SubnetHealth::counters(const Topology& topology, PortId port) const {
  if (&topology != topology_.get()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = latest_.find(port);
  return found == latest_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> SubnetHealth::position(const Topology& topology, PortId port) const {
  if (&topology != topology_.get() || port.index() >= position_of_.size()) return std::nullopt;
  const auto found = position_of_[port.index()];
  return found == kNotWatched ? std::nullopt : std::optional(found);
}

std::optional<PastCounters> SubnetHealth::counters_at(const Topology& topology, PortId port, std::int64_t at_us,
                                                      std::int64_t now_us) const {
  const auto watched = position(topology, port);
  if (!watched) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto slot = archive_.at(*watched, at_us, now_us);
  if (!slot.is_read) return std::nullopt;
  return PastCounters{slot.load, slot.peak, archive_.errors_per_hour(*watched, at_us, now_us)};
}

void SubnetHealth::archive(const Topology& topology, std::span<const PortId> ports, health::ArchiveRing ring,
                           std::int64_t now_us, ArchivedPorts& ranges) const {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (const auto watched = position(topology, ports[i])) ranges[i] = archive_.range(*watched, ring, now_us);
  }
}

}  // namespace railweave::control
