// A SubnetController on a simulated subnet and a real control loop, stepped by hand on a clock of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "fabric/drivers/simulated/simulated_driver.h"
#include "fabric/routing/audit/audit.h"
#include "services/control/live/routes/table_reading.h"
#include "services/control/live/subnet_controller.h"
#include "tests/support/fat_trees.h"
#include "tests/unit/control/control_fixture.h"

namespace railweave::control {

// The driver outlives connections, as the fabric does.
class SharedDriver final : public fabric::FabricDriver {
 public:
  // reads: how many switches each reading of tables was about. written: called after every call that writes.
  SharedDriver(std::shared_ptr<fabric::SimulatedDriver> driver, std::vector<std::size_t>& reads,
               const std::function<void()>& written)
      : driver_(std::move(driver)), reads_(reads), written_(written) {}
  Result<fabric::DiscoveredFabric> discover(bool everything) override { return driver_->discover(everything); }
  Result<fabric::Sweep> sweep(bool everything) override { return driver_->sweep(everything); }
  Result<std::optional<fabric::Sweep>> recheck(std::span<const Guid> switches, std::span<const Guid> gone) override {
    return driver_->recheck(switches, gone);
  }
  [[nodiscard]] bool is_present(Guid device) const override { return driver_->is_present(device); }
  [[nodiscard]] fabric::LinkReading read_link(Guid device, unsigned port) const override {
    return driver_->read_link(device, port);
  }
  [[nodiscard]] fabric::Lid read_lid(Guid device, unsigned port) const override {
    return driver_->read_lid(device, port);
  }
  [[nodiscard]] std::optional<fabric::PortTableLimits> read_limits(fabric::PortRef port) const override {
    return driver_->read_limits(port);
  }
  Result<std::vector<fabric::Observation>> observe(std::chrono::milliseconds wait) override {
    return driver_->observe(wait);
  }
  Result<std::vector<fabric::TableReading>> read_tables(const fabric::Topology& topology,
                                                        std::span<const fabric::SwitchId> switches,
                                                        fabric::Lid top) override {
    reads_.push_back(switches.size());
    return driver_->read_tables(topology, switches, top);
  }
  Result<std::vector<fabric::SwitchSight>> look(const fabric::Topology& topology,
                                                std::span<const fabric::SwitchId> switches, fabric::Lid top) override {
    reads_.push_back(switches.size());
    return driver_->look(topology, switches, top);
  }
  Result<fabric::ProgramReport> program(const fabric::Topology& topology,
                                        const fabric::ForwardingDelta& delta) override {
    auto report = driver_->program(topology, delta);
    if (written_) written_();
    return report;
  }
  void yield_when(std::function<bool()> another_writes) override { driver_->yield_when(std::move(another_writes)); }
  Result<void> may_write() override { return driver_->may_write(); }
  Result<fabric::BringUpReport> bring_up(std::span<const fabric::LidAssignment> lids, fabric::Lid sm_lid,
                                         std::span<const fabric::PortRef> unused) override {
    return driver_->bring_up(lids, sm_lid, unused);
  }
  Result<fabric::PortTablesReport> program_ports(std::span<const fabric::PortTables> wanted) override {
    auto report = driver_->program_ports(wanted);
    if (written_) written_();
    return report;
  }
  Result<fabric::ManagementKeysReport> keep_keys(std::uint64_t generation, bool releases) override {
    return driver_->keep_keys(generation, releases);
  }
  Result<std::vector<fabric::PortTablesReading>> read_port_tables(std::span<const fabric::PortRef> ports) override {
    return driver_->read_port_tables(ports);
  }
  Result<std::vector<fabric::CounterReading>> read_counters(std::span<const fabric::PortRef> ports) override {
    return driver_->read_counters(ports);
  }

 private:
  std::shared_ptr<fabric::SimulatedDriver> driver_;
  std::vector<std::size_t>& reads_;
  const std::function<void()>& written_;
};

class LiveTest : public ControlTest {
 protected:
  void start_live(const fabric::testing::FatTreeShape& shape = {}, SubnetMode mode = SubnetMode::direct) {
    start();
    topology_ = fabric::testing::make_fat_tree(shape);
    switches_ = std::make_shared<fabric::SimulatedDriver>(topology_);
    must(accept(topology_));
    if (mode != SubnetMode::observe) must(SetSubnetMode{"plane-0", mode, "", {}});
    make_controller();
  }
  void make_controller() {
    SubnetOptions options{.subnet = subnet_, .port = "simulated"};
    options.sweep_every = std::chrono::seconds(10);
    options.audits = audits_;
    options.use_swapped_cables = use_swapped_cables_;
    options.accept_replacements = accept_replacements_;
    options.opensm_files = opensm_files_;
    options.has_key = has_key_;
    options.rebalance = rebalance_;
    options.follow_jobs = follow_jobs_;
    options.compare_engines = engines_.compare;
    options.take_better_engine = engines_.take;
    options.several_lanes = several_lanes_;
    SubnetSurroundings with{.connect = [this](SubnetMode) -> Result<std::unique_ptr<fabric::FabricDriver>> {
                              ++connections_;
                              if (refused_) return std::unexpected(*refused_);
                              return std::make_unique<SharedDriver>(switches_, table_reads_, written_);
                            },
                            .monotonic_us = [this] { return now_us_ += 10; },
                            .unix_us = [this] { return 1'800'000'000'000'000 + now_us_; },
                            .report = [this](auto body) { reports_.push_back(std::move(body)); },
                            .routes = [this](const ClusterState& state) { return routes_of(routes_, state); },
                            .host_routes = [this](const ClusterState& state) { return routes_of(host_routes_, state); },
                            .keep_routes = [this](FabricRoutesPtr routes) { routes_.keep(std::move(routes)); },
                            .reserved = reserved_,
                            .mode_now = [this] { return loop_->state()->mode(subnet_); },
                            .log = log_};
    controller_ = std::make_unique<SubnetController>(options, with);
  }
  // What the engine is to make of it; as the registry's own where nothing is broken.
  [[nodiscard]] Result<FabricRoutesPtr> routes_of(RoutingCache& cache, const ClusterState& state) const {
    auto routes = cache.at(state);
    if (!routes) return routes;
    const auto& engine = (*routes)->taken.engine.empty() ? engine_ : engine_of_taken_;
    if (!engine) return routes;
    auto input = (*routes)->input;
    auto routing = engine->route(input);
    if (!routing) return std::unexpected(routing.error());
    return std::make_shared<const FabricRoutes>(std::move(input), fabric::EngineChoice{engine.get(), "a test's"},
                                                std::move(*routing), (*routes)->taken);
  }
  // The registry's, of the mode: beside OpenSM those to end ports.
  [[nodiscard]] Result<FabricRoutesPtr> routes_now() {
    const auto state = loop_->state();
    return (state->mode(subnet_) == SubnetMode::opensm ? host_routes_ : routes_).at(*state);
  }
  // One step, `later_ms` after the one before; what it reports becomes state.
  void step(std::int64_t later_ms = 0) {
    now_us_ += later_ms * 1000;
    controller_->step(loop_->state(), std::chrono::milliseconds(0));
    record();
  }
  void record() {
    for (auto& report : std::exchange(reports_, {})) must(std::move(report));
  }
  // Until nothing happens any more.
  void settle() {
    for (int i = 0; i < 6; ++i) step(400);
  }
  [[nodiscard]] SubnetStatusPtr status() const { return controller_->status(); }
  [[nodiscard]] std::size_t alarms(const std::string& kind) const {
    std::size_t count = 0;
    const auto state = loop_->state();
    for (const auto& [id, alarm] : *state->alarms) count += alarm.kind == kind ? 1 : 0;
    return count;
  }

  struct Cable {
    Guid sw;
    unsigned port;
    fabric::LinkId link;
  };
  // The n-th cable between two switches.
  [[nodiscard]] Cable uplink(std::size_t n) const {
    for (const auto link : topology_->links()) {
      if (!topology_->joins_switches(link) || n-- > 0) continue;
      const auto port = topology_->a(link);
      return {topology_->guid(topology_->switch_of(port)), topology_->number(port), link};
    }
    return {};
  }
  void cut(const Cable& cable, bool reports = true) { switches_->cut(cable.sw, cable.port, reports); }
  void join(const Cable& cable, bool reports = true) { switches_->join(cable.sw, cable.port, reports); }

  // What switches hold, walked on the cables that are there: the count of pairs that are not brought together though
  // cables connect them, and whether there are credit loops. By the audit, which knows nothing of controllers.
  [[nodiscard]] fabric::AuditReport walk() {
    const auto routes = routes_now();
    EXPECT_TRUE(routes);
    fabric::FabricView view(topology_);
    for (const auto link : topology_->links()) {
      const auto port = topology_->is_switch_port(topology_->a(link)) ? topology_->a(link) : topology_->b(link);
      if (!topology_->switch_of(port)) continue;
      const Guid guid = topology_->guid(topology_->switch_of(port));
      if (!switches_->read_link(guid, topology_->number(port)).up) view.set_state(link, fabric::LinkState::down);
    }
    const auto& scope = (*routes)->scope();
    std::vector<fabric::SwitchId> all(topology_->switches().begin(), topology_->switches().end());
    const auto readings = switches_->read_tables(*topology_, all, top_lid(scope));
    return fabric::audit(view, with_readings((*routes)->routing, *readings).tables, {});
  }

  fabric::TopologyPtr topology_;
  std::shared_ptr<fabric::SimulatedDriver> switches_;
  std::function<void()> written_;  // after every call that writes to switches
  log::Log log_;
  RoutingCache routes_, host_routes_{false};
  std::unique_ptr<SubnetController> controller_;
  std::vector<std::size_t> table_reads_;
  std::string opensm_files_;
  std::string subnet_ = "plane-0";
  std::launch audits_ = std::launch::deferred;
  bool use_swapped_cables_ = true, has_key_ = false, rebalance_ = false, follow_jobs_ = false, several_lanes_ = true;
  struct {
    bool compare = false, take = false;
  } engines_;  // better ones
  AcceptReplacements accept_replacements_ = AcceptReplacements::never;
  std::unique_ptr<fabric::RoutingEngine> engine_, engine_of_taken_;     // none: the registry's; where one was taken
  std::function<Result<ReservedLoads>(const ClusterState&)> reserved_;  // none: ports are weighed by classes
  std::vector<decltype(Command::body)> reports_;
  std::optional<Error> refused_;
  std::size_t connections_ = 0;
  std::int64_t now_us_ = 1'000'000;
};

}  // namespace railweave::control
