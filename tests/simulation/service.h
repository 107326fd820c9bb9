// One railweaved: the real control loop, codec, live subnets, controllers and InfiniBand driver on a simulated store,
// time and subnet, all on the caller's thread.
#pragma once

#include <memory>
#include <string>

#include "services/control/codec/journal_codec.h"
#include "services/control/control_loop.h"
#include "services/control/live/live_subnets.h"
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

  // Takes the lease: no other service may hold one that has not expired.
  Service(const World& world, std::int64_t clock_ahead_us);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  [[nodiscard]] Result<void> recover() { return loop_.recover(); }
  // Each thread for a moment.
  void step(std::chrono::milliseconds wait);
  bool step_control();  // false: it had nothing to do
  void crash();         // nothing that it still does has an effect, nothing it says is received
  void stop();          // in order

  [[nodiscard]] control::ControlLoop& loop() { return loop_; }
  [[nodiscard]] control::SubnetStatusPtr subnet() const { return live_.subnet(SimulatedFabric::kSubnet); }
  [[nodiscard]] SimulatedJournal& journal() { return journal_; }
  [[nodiscard]] bool is_dead() const { return is_dead_; }
  [[nodiscard]] int station() const { return station_; }
  [[nodiscard]] std::int64_t unix_us() const { return kStartUs + world_.time.now_us() + clock_ahead_us; }

  Awaits awaits;
  std::int64_t clock_ahead_us;  // the time of day may be set
  bool is_suspended = false;

 private:
  static constexpr std::int64_t kStartUs = 1'800'000'000'000'000;
  [[nodiscard]] control::ControlOptions control_options();
  [[nodiscard]] std::vector<control::LiveSubnets::Subnet> subnets();
  [[nodiscard]] control::LiveSubnets::Clocks clocks();
  void note_write(bool suspended);

  const World world_;
  const int station_;
  bool is_dead_ = false, in_control_ = false;
  SimulatedJournal journal_;
  api::JournalCodec codec_;
  control::ControlLoop loop_;
  control::LiveSubnets live_;
};

}  // namespace railweave::simulation
