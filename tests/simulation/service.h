// One railweaved: the real control loop, replica, codec, live subnets, controllers and InfiniBand driver on a simulated
// store, time and fabric, all on the caller's thread. It leads where the lease is free, else it follows.
#pragma once

#include <memory>
#include <string>

#include "services/control/codec/journal_codec.h"
#include "services/control/control_loop.h"
#include "services/control/live/live_subnets.h"
#include "services/control/replica.h"
#include "tests/simulation/simulated_fabric.h"
#include "tests/simulation/simulated_store.h"
#include "tests/simulation/trace.h"

namespace railweave::simulation {

class Service {
 public:
  struct World {
    SimulatedTime& time;
    SimulatedStore& store;
    SimulatedFabric& fabric;
    Trace& trace;
    std::string& fault;  // the first one that was seen
  };

  // number: of its machine, which says where it is in each subnet.
  Service(const World& world, unsigned number, std::int64_t clock_ahead_us);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // As a start does: reads the store, and leads or follows.
  [[nodiscard]] Result<void> open();
  // Each thread for a moment. Only one that leads, or has led, lets time pass.
  void step(std::chrono::milliseconds wait);
  bool step_control();  // false: it had nothing to do
  void crash();         // nothing that it still does has an effect, nothing it says is received
  void stop();          // in order

  [[nodiscard]] control::ControlLoop& loop() { return loop_; }
  [[nodiscard]] control::SubnetStatusPtr subnet(const SimulatedSubnet& one) const { return live_.subnet(one.name()); }
  [[nodiscard]] SimulatedJournal& journal() { return journal_; }
  [[nodiscard]] bool is_dead() const { return is_dead_; }
  [[nodiscard]] bool follows() const { return replica_ != nullptr && replica_->follows(); }
  [[nodiscard]] bool leads() const { return !is_dead_ && !follows() && journal_.leads(); }
  // Another has taken over, or it cannot go on: a supervisor starts it again.
  [[nodiscard]] bool is_to_restart() const { return cannot_go_on_ || journal_.is_deposed(); }
  [[nodiscard]] int station(const SimulatedSubnet& one) const {
    return one.adapters()[number_ % one.adapters().size()];
  }
  [[nodiscard]] std::int64_t unix_us() const { return kStartUs + world_.time.now_us() + clock_ahead_us; }

  Awaits awaits;
  std::int64_t clock_ahead_us;  // the time of day may be set
  bool is_suspended = false;

 private:
  static constexpr std::int64_t kStartUs = 1'800'000'000'000'000;
  [[nodiscard]] control::ControlOptions control_options();
  [[nodiscard]] std::vector<control::LiveSubnets::Subnet> subnets();
  [[nodiscard]] log::Log warnings() const;
  [[nodiscard]] control::LiveSubnets::Clocks clocks();
  void note_write(bool suspended);

  void announce();

  const World world_;
  const unsigned number_;
  bool is_dead_ = false, in_control_ = false, cannot_go_on_ = false;
  SimulatedJournal journal_;
  api::JournalCodec codec_;
  control::ControlLoop loop_;
  control::LiveSubnets live_;
  std::unique_ptr<control::Replica> replica_;  // where it began as a follower
};

}  // namespace railweave::simulation
