#include "services/control/live/routes/applied_tables.h"

#include <algorithm>

namespace railweave::control {

void AppliedTables::forget() {
  routing_.reset();
  next_ = 0;
}

void AppliedTables::start_over() {
  unknown_.clear();
  isolated_.clear();
}

void AppliedTables::isolate(fabric::SwitchId sw, const std::string& reason) {
  unknown_.insert(sw);
  isolated_.try_emplace(sw, reason);
}

void AppliedTables::take(std::span<const fabric::TableReading> readings, const fabric::Routing& wanted) {
  for (const auto& reading : readings) {
    if (reading.answered) {
      unknown_.erase(reading.sw);
      isolated_.erase(reading.sw);
    } else {
      isolate(reading.sw, "does not answer");
    }
  }
  routing_ = with_readings(routing_ ? *routing_ : wanted, readings);
}

std::span<const fabric::SwitchId> AppliedTables::next(std::span<const fabric::SwitchId> all, std::size_t count) const {
  return all.subspan(next_, std::min(count, all.size() - next_));
}

bool AppliedTables::advance(std::size_t count, std::size_t all) {
  next_ += count;
  if (next_ < all) return false;
  next_ = 0;
  return true;
}

}  // namespace railweave::control
