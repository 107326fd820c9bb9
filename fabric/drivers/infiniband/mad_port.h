// One local InfiniBand port through which management datagrams go out and come in: the seam between this driver and
// the machine. UmadPort is the real one; tests put a subnet in memory behind it. Used by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "fabric/base/error.h"
#include "fabric/drivers/infiniband/mad/mad.h"
#include "fabric/topology/ids.h"

namespace railweave::fabric::infiniband {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Milliseconds = std::chrono::milliseconds;

// Where a datagram goes. Directed-route packets carry their route themselves.
struct MadAddress {
  Lid lid = 0xffff;
  static MadAddress directed() { return {}; }
  static MadAddress to(Lid lid) { return {lid}; }
};

struct ReceivedMad {
  Mad mad{};
  Lid source = 0;
  // Not an answer but the datagram that was sent: there was no answer in the time given to send().
  bool timed_out = false;
};

class MadPort {
 public:
  MadPort() = default;
  MadPort(const MadPort&) = delete;
  MadPort& operator=(const MadPort&) = delete;
  virtual ~MadPort() = default;

  // Only the low 32 bits of the transaction id come back as they were sent; the rest belongs to the port.
  // answer_within: 0 for datagrams without an answer.
  virtual Result<void> send(const MadAddress& to, const Mad& mad, Milliseconds answer_within) = 0;
  // The next datagram; waits for it at most this long.
  virtual Result<std::optional<ReceivedMad>> receive(Milliseconds wait) = 0;
  [[nodiscard]] virtual TimePoint now() const = 0;
};

}  // namespace railweave::fabric::infiniband
