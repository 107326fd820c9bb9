#include "services/control/live/routes/applied_tables.h"

namespace railweave::control {

void AppliedTables::forget() {
  routing_.reset();
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
  ++revision_;
  note_foreign(wanted.tables.scope(), readings, foreign_);
  routing_ = with_readings(routing_ ? *routing_ : wanted, readings, lids);
}

}  // namespace railweave::control
