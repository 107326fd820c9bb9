// The log of one live subnet. What one round of its controller tells has that round's id, which the events that come of it keep
// as what asked for them: the audit trail of a repair's events leads back to its lines. Used by the stepping thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/base/log/log.h"

namespace railweave::control {

class SubnetLog {
 public:
  // started_us: differs from one start of the service to the next.
  SubnetLog(const log::Log& log, std::string_view subnet, std::int64_t started_us);

  void begin_round() { round_.clear(); }
  // The id of the round under way. A round that tells and reports nothing uses up no number.
  [[nodiscard]] const std::string& round();
  [[nodiscard]] const log::Log& operator()() {
    if (round_.empty()) (void)round();
    return now_;
  }
  [[nodiscard]] bool is_on(log::Level level) const { return subnet_.is_on(level); }

 private:
  const std::string prefix_;
  const log::Log subnet_;
  std::uint64_t number_ = 0;
  std::string round_;  // "": none has an id yet
  log::Log now_;
};

}  // namespace railweave::control
