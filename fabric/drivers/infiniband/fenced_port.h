// A port that changes nothing once its holder may no longer change the subnet: every Set is asked about just before it goes
// out, since a process may be suspended anywhere and wake up beside its successor.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "fabric/drivers/infiniband/mad_port.h"

namespace railweave::fabric::infiniband {

class FencedPort final : public MadPort {
 public:
  FencedPort(std::unique_ptr<MadPort> port, std::function<bool()> leads)
      : port_(std::move(port)), leads_(std::move(leads)) {}

  // "ib.notLeader": a Set that was not sent.
  Result<void> send(const MadAddress& to, const Mad& mad, Milliseconds answer_within) override {
    if (read_header(mad).method == MadMethod::set && !leads_()) {
      return fail(ErrorKind::unavailable, "ib.notLeader", "another process may lead now: nothing more is written");
    }
    return port_->send(to, mad, answer_within);
  }
  Result<std::optional<ReceivedMad>> receive(Milliseconds wait) override { return port_->receive(wait); }
  [[nodiscard]] TimePoint now() const override { return port_->now(); }

 private:
  const std::unique_ptr<MadPort> port_;
  const std::function<bool()> leads_;
};

}  // namespace railweave::fabric::infiniband
