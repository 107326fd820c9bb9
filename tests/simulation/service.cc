#include "tests/simulation/service.h"

#include "fabric/drivers/infiniband/infiniband_driver.h"
#include "tests/simulation/simulated_port.h"

namespace railweave::simulation {
namespace {

using std::chrono::milliseconds;

fabric::infiniband::InfinibandOptions driver_options(control::SubnetMode mode, std::function<bool()> leads) {
  fabric::infiniband::InfinibandOptions options{.mode = mode == control::SubnetMode::direct
                                                            ? fabric::infiniband::SubnetMode::direct
                                                            : fabric::infiniband::SubnetMode::observe};
  options.naming.subnet = SimulatedFabric::kSubnet;
  options.leads = std::move(leads);
  return options;
}

}  // namespace

Service::Service(const World& world, std::int64_t ahead_us)
    : clock_ahead_us(ahead_us),
      world_(world),
      station_(world.store.term % 2 == 0 ? world.fabric.adapters().front() : world.fabric.adapters().back()),
      journal_(world.store, awaits),
      loop_(journal_, codec_, control_options()),
      live_(loop_, subnets(), [this](const std::string& text) { world_.trace.note("warning: " + text); }, clocks()) {}

Service::~Service() { crash(); }

control::ControlOptions Service::control_options() {
  control::ControlOptions options;
  options.batch_limit = 4;
  options.snapshot_every = 20;
  options.now_us = [this] { return unix_us(); };
  options.monotonic_us = [this] { return world_.time.now_us(); };
  options.warn = [this](const std::string& text) { world_.trace.note("warning: " + text); };
  return options;
}

control::LiveSubnets::Clocks Service::clocks() {
  control::LiveSubnets::Clocks clocks;
  clocks.monotonic_us = [this] { return world_.time.now_us(); };
  clocks.unix_us = [this] { return unix_us(); };
  return clocks;
}

std::vector<control::LiveSubnets::Subnet> Service::subnets() {
  control::SubnetOptions options{.subnet = SimulatedFabric::kSubnet, .port = "memory"};
  options.audits = std::launch::deferred;
  options.damping.penalty = 1e-6;  // nothing is left out because it flaps
  options.look_every = std::chrono::seconds(30);
  const auto connect = [this](control::SubnetMode mode) -> Result<std::unique_ptr<fabric::FabricDriver>> {
    SimulatedPort::Owner owner{.awaits = awaits,
                               .blocked = [this] { (void)step_control(); },
                               .wrote = [this](bool suspended) { note_write(suspended); }};
    return std::make_unique<fabric::infiniband::InfinibandDriver>(
        std::make_unique<SimulatedPort>(world_.fabric, world_.time, station_, std::move(owner)),
        driver_options(mode, [this] { return loop_.leads(); }));
  };
  return {{std::move(options), connect, ""}};
}

// The one datagram that a service was sending when it was suspended is not to be held back by anything.
void Service::note_write(bool suspended) {
  if (suspended || !journal_.has_successor() || !world_.fault.empty()) return;
  world_.fault = "a deposed leader writes to the fabric";
}

void Service::step(milliseconds wait) {
  while (step_control()) {
  }
  loop_.save_snapshot();
  const std::int64_t before_us = world_.time.now_us();
  live_.step(wait);
  // Where there is no connection nothing waits.
  if (world_.time.now_us() == before_us) world_.time.pass(wait.count() * 1000);
  while (step_control()) {
  }
}

bool Service::step_control() {
  if (in_control_) return false;
  in_control_ = true;
  struct Leave {
    bool& flag;
    ~Leave() { flag = false; }
  } leave{in_control_};
  return loop_.step();
}

void Service::crash() {
  is_dead_ = true;
  journal_.die();
  awaits.disarm();
}

void Service::stop() {
  awaits.disarm();
  live_.stop();
  loop_.stop();
  loop_.save_snapshot();
  journal_.give_back();
}

}  // namespace railweave::simulation
