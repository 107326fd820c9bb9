#include "tests/simulation/service.h"

#include "fabric/drivers/infiniband/infiniband_driver.h"
#include "tests/simulation/simulated_port.h"

namespace railweave::simulation {
namespace {

using std::chrono::milliseconds;

fabric::infiniband::InfinibandOptions driver_options(control::SubnetMode mode, const std::string& subnet,
                                                     std::function<bool()> leads) {
  fabric::infiniband::InfinibandOptions options{.mode = mode == control::SubnetMode::direct
                                                            ? fabric::infiniband::SubnetMode::direct
                                                            : fabric::infiniband::SubnetMode::observe};
  options.naming.subnet = subnet;
  options.leads = std::move(leads);
  return options;
}

}  // namespace

Service::Service(const World& world, unsigned number, std::int64_t ahead_us)
    : clock_ahead_us(ahead_us),
      world_(world),
      number_(number),
      journal_(world.store, awaits),
      loop_(journal_, codec_, control_options()),
      live_(loop_, subnets(), warnings(), clocks()) {}

Service::~Service() { crash(); }

// Warnings are part of what happened; all else that the log would say is not.
log::Log Service::warnings() const {
  class TraceLines final : public log::Sink {
   public:
    explicit TraceLines(Trace& trace) : trace_(trace) {}
    void write(log::Level /*level*/, std::string_view text) override { trace_.note("warning: " + std::string(text)); }

   private:
    Trace& trace_;
  };
  return {std::make_shared<TraceLines>(world_.trace), log::Levels::parse("warn").value()};
}

control::ControlOptions Service::control_options() {
  control::ControlOptions options;
  options.batch_limit = 4;
  options.snapshot_every = 20;
  options.now_us = [this] { return unix_us(); };
  options.monotonic_us = [this] { return world_.time.now_us(); };
  options.log = warnings();
  return options;
}

control::LiveSubnets::Clocks Service::clocks() {
  control::LiveSubnets::Clocks clocks;
  clocks.monotonic_us = [this] { return world_.time.now_us(); };
  clocks.unix_us = [this] { return unix_us(); };
  return clocks;
}

std::vector<control::LiveSubnets::Subnet> Service::subnets() {
  std::vector<control::LiveSubnets::Subnet> all;
  for (const auto& one : world_.fabric.subnets()) {
    control::SubnetOptions options{.subnet = one->name(), .port = "memory"};
    options.audits = std::launch::deferred;
    options.damping.is_on = false;
    options.look_every = std::chrono::seconds(30);
    const auto connect =
        [this, subnet = one.get()](control::SubnetMode mode) -> Result<std::unique_ptr<fabric::FabricDriver>> {
      SimulatedPort::Owner owner{.awaits = awaits,
                                 .blocked = [this] { (void)step_control(); },
                                 .wrote = [this](bool suspended) { note_write(suspended); }};
      return std::make_unique<fabric::infiniband::InfinibandDriver>(
          std::make_unique<SimulatedPort>(*subnet, world_.time, station(*subnet), std::move(owner)),
          driver_options(mode, subnet->name(), [this] { return loop_.leads(); }));
    };
    all.push_back({std::move(options), connect, ""});
  }
  return all;
}

Result<void> Service::open() {
  if (auto led = journal_.try_lead(); !led) return std::unexpected(led.error());
  if (auto recovered = loop_.recover(); !recovered) return recovered;
  if (loop_.phase() != control::Phase::following) {
    announce();
    return {};
  }
  control::ReplicaOptions options;
  options.on_lead = [this]() -> Result<void> {
    announce();
    return {};
  };
  options.on_failed = [this](const Error& error) {
    world_.trace.note("it cannot go on: " + error.text());
    cannot_go_on_ = true;
  };
  options.log = warnings();
  replica_ = std::make_unique<control::Replica>(journal_, loop_, std::move(options));
  return {};
}

void Service::announce() {
  const std::string name = "replica-" + std::to_string(number_);
  world_.trace.note(name + " leads, term " + std::to_string(journal_.term()));
  (void)loop_.submit({"railweaved", control::BeginTerm{name, "https://" + name}}, [](const auto&) {});
}

// The one datagram that a service was sending when it was suspended is not to be held back by anything.
void Service::note_write(bool suspended) {
  if (suspended || journal_.leads() || !world_.fault.empty()) return;
  world_.fault = std::string(journal_.has_successor() ? "a deposed leader" : "a leader whose lease has expired") +
                 " writes to the fabric";
}

void Service::step(milliseconds wait) {
  if (cannot_go_on_) return;
  if (follows()) {
    (void)replica_->step();
    return;
  }
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
