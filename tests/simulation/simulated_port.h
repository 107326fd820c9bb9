// A service's port into the simulated subnet, with a queue of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "fabric/drivers/infiniband/mad_port.h"
#include "tests/simulation/awaits.h"
#include "tests/simulation/simulated_subnet.h"

namespace railweave::simulation {

class SimulatedPort final : public fabric::infiniband::MadPort {
 public:
  struct Owner {
    Awaits& awaits;
    std::function<void()> blocked;  // the thread waits: others of the service run
    // A datagram that writes was sent; suspended: the service slept while it was sending it.
    std::function<void(bool suspended)> wrote;
  };
  SimulatedPort(SimulatedSubnet& subnet, SimulatedTime& time, int station, Owner owner)
      : subnet_(subnet), time_(time), station_(station), owner_(std::move(owner)) {
    subnet_.open_ports_.insert(this);
  }
  ~SimulatedPort() override { subnet_.open_ports_.erase(this); }

  Result<void> send(const fabric::infiniband::MadAddress& to, const fabric::infiniband::Mad& mad,
                    fabric::infiniband::Milliseconds answer_within) override;
  Result<std::optional<fabric::infiniband::ReceivedMad>> receive(fabric::infiniband::Milliseconds wait) override;
  [[nodiscard]] fabric::infiniband::TimePoint now() const override {
    return fabric::infiniband::TimePoint(std::chrono::microseconds(time_.now_us()));
  }

  [[nodiscard]] int station() const { return station_; }
  void arrive(std::int64_t at_us, const fabric::infiniband::ReceivedMad& mad) { arrivals_.emplace(at_us, mad); }

 private:
  SimulatedSubnet& subnet_;
  SimulatedTime& time_;
  const int station_;
  const Owner owner_;
  std::multimap<std::int64_t, fabric::infiniband::ReceivedMad> arrivals_;
};

}  // namespace railweave::simulation
