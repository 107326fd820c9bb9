#include "tests/simulation/simulated_port.h"

#include <algorithm>

#include <infiniband/mad.h>

namespace railweave::simulation {

using namespace fabric::infiniband;  // NOLINT: this file is about its types

Result<void> SimulatedPort::send(const MadAddress& to, const Mad& mad, Milliseconds answer_within) {
  auto* bytes = const_cast<std::uint8_t*>(mad.data());
  const bool writes = mad_get_field(bytes, 0, IB_MAD_METHOD_F) == IB_MAD_METHOD_SET;
  const bool suspended = owner_.awaits.at(writes ? Awaits::Place::write_fabric : Awaits::Place::read_fabric);
  if (time_.now_us() < subnet_.broken_until_us) return fail(ErrorKind::unavailable, "sim.broken", "the port is gone");
  if (writes) {
    owner_.wrote(suspended);
    ++subnet_.changes;
  }
  subnet_.subnet.asked.clear();
  subnet_.subnet.place_at(station_, 1);
  if (auto sent = subnet_.subnet.send(to, mad, answer_within); !sent) return sent;
  std::int64_t delay_us = 0;
  if (!subnet_.subnet.asked.empty()) {
    const auto late = subnet_.delay_us.find(subnet_.subnet.asked.back().node);
    if (late != subnet_.delay_us.end()) delay_us = late->second;
  }
  const std::int64_t patience_us = std::chrono::duration_cast<std::chrono::microseconds>(answer_within).count();
  for (auto& [at, answer] : subnet_.subnet.take_arrivals()) {
    const auto after_us = std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count();
    // What answers too late was done all the same.
    if (answer.timed_out || after_us + delay_us > patience_us) {
      arrive(time_.now_us() + patience_us, {mad, to.lid, true});
    } else {
      arrive(time_.now_us() + after_us + delay_us, answer);
    }
  }
  return {};
}

Result<std::optional<ReceivedMad>> SimulatedPort::receive(Milliseconds wait) {
  if (time_.now_us() < subnet_.broken_until_us) return fail(ErrorKind::unavailable, "sim.broken", "the port is gone");
  const std::int64_t until_us = time_.now_us() + std::max<std::int64_t>(1, wait.count() * 1000);
  const bool is_long = wait.count() > 0 && (arrivals_.empty() || arrivals_.begin()->first > time_.now_us() + 1000);
  if (is_long) owner_.blocked();
  if (arrivals_.empty() || arrivals_.begin()->first > until_us) {
    time_.pass_until(until_us);
    return std::nullopt;
  }
  time_.pass_until(arrivals_.begin()->first);
  ReceivedMad mad = arrivals_.begin()->second;
  arrivals_.erase(arrivals_.begin());
  return mad;
}

}  // namespace railweave::simulation
