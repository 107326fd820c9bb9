#include "services/control/live/routes/applied_tables.h"

#include <utility>

namespace railweave::control {
namespace {

constexpr std::int64_t kPacketLifeUs = 2'000'000;

}  // namespace

void AppliedTables::keep_earlier(const fabric::Routing& routing, std::int64_t now_us) {
  std::erase_if(earlier_, [&](const Earlier& one) {
    return one.until_us <= now_us ||
           (same_tables(one.routing.tables, routing.tables) && one.routing.lanes.planes == routing.lanes.planes);
  });
  if (earlier_.size() == kMaxEarlier) earlier_.erase(earlier_.begin());
  earlier_.push_back({routing, now_us + kPacketLifeUs});
}

std::vector<const fabric::Routing*> AppliedTables::earlier(std::int64_t now_us) const {
  std::vector<const fabric::Routing*> tables;
  for (const Earlier& one : earlier_) {
    if (now_us < one.until_us) tables.push_back(&one.routing);
  }
  return tables;
}

void AppliedTables::replace(fabric::Routing routing) {
  const bool are_all_known = unknown_.empty() || !routing_;
  last_held_ = are_all_known ? std::nullopt : std::optional(with_switches_of(routing, last_held(), unknown_));
  routing_ = std::move(routing);
  ++revision_;
}

void AppliedTables::set(const fabric::Routing& wanted) {
  replace(wanted);
  foreign_.clear();
}

void AppliedTables::forget() {
  routing_.reset();
  last_held_.reset();
  foreign_.clear();
  ++revision_;
}

void AppliedTables::start_over() {
  unknown_.clear();
  isolated_.clear();
}

void AppliedTables::isolate(fabric::SwitchId sw, const std::string& reason) {
  unknown_.insert(sw);
  isolated_.try_emplace(sw, reason);
}

void AppliedTables::take(std::span<const fabric::TableReading> readings, const fabric::Routing& wanted,
                         std::span<const fabric::Lid> lids, std::int64_t now_us) {
  for (const auto& reading : readings) {
    if (reading.answered) {
      unknown_.erase(reading.sw);
      read_us_[reading.sw] = now_us;
      isolated_.erase(reading.sw);
    } else {
      isolate(reading.sw, "does not answer");
    }
  }
  note_foreign(wanted.tables.scope(), readings, foreign_);
  replace(with_readings(routing_ ? *routing_ : wanted, readings, lids));
}

}  // namespace railweave::control
