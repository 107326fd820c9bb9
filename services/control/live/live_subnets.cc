#include "services/control/live/live_subnets.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "services/control/views/guarantee_book.h"

namespace railweave::control {
namespace {

constexpr std::chrono::milliseconds kListen{50};  // the longest delay of a drain or a change of mode
constexpr std::chrono::milliseconds kListenToOpensm{1};
constexpr std::chrono::milliseconds kOffline{100};

template <class Clock>
std::int64_t clock_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count();
}

// Each subnet's thread keeps a book of its own.
std::function<Result<ReservedLoads>(const ClusterState&)> reserved_by(std::shared_ptr<GuaranteeBook> book) {
  return [book = std::move(book)](const ClusterState& state) -> Result<ReservedLoads> {
    if (state.guaranteed->empty()) return ReservedLoads{};
    if (auto brought = book->bring_to(state); !brought) return std::unexpected(brought.error());
    return ReservedLoads{&book->ledger(), book->version()};
  };
}

}  // namespace

LiveSubnets::Clocks::Clocks()
    : monotonic_us(clock_us<std::chrono::steady_clock>), unix_us(clock_us<std::chrono::system_clock>) {}

LiveSubnets::LiveSubnets(ControlLoop& loop, std::vector<Subnet> subnets, const log::Log& log, const Clocks& clocks)
    : loop_(loop), log_(log.of(log::Subject::live)), routes_(loop.routes()) {
  running_.reserve(subnets.size());
  const std::string reader = fmt::format("{}.{}", loop.term(), clocks.unix_us());
  for (auto& subnet : subnets) {
    const std::string name = subnet.options.subnet;
    SubnetSurroundings with{.connect = std::move(subnet.connect),
                            .monotonic_us = clocks.monotonic_us,
                            .unix_us = clocks.unix_us,
                            .report = [this, at = running_.size()](
                                          auto body) { report(std::move(body), running_[at].controller->round_id()); },
                            .routes = [this](const ClusterState& state) { return routes_->wanted(state); },
                            .host_routes = [this](const ClusterState& state) { return host_routes_.wanted(state); },
                            .keep_routes = [this](FabricRoutesPtr routes) { routes_->keep(std::move(routes)); },
                            .reserved = reserved_by(std::make_shared<GuaranteeBook>(routes_)),
                            .mode_now =
                                [this, name] {
                                  // A leader that was suspended, or cannot reach the store, may have a successor.
                                  return loop_.leads() ? loop_.state()->mode(name) : SubnetMode::observe;
                                },
                            .publish_tables = [this](SeenTablesPtr seen) { routes_->seen().publish(std::move(seen)); },
                            .reader = reader,
                            .log = log_};
    running_.push_back({name, std::make_unique<SubnetController>(std::move(subnet.options), std::move(with)),
                        std::move(subnet.opensm_socket), nullptr, std::make_unique<Worker>(name)});
  }
}

LiveSubnets::~LiveSubnets() { stop(); }

Result<void> LiveSubnets::start() {
  for (auto& running : running_) {
    if (running.opensm_socket.empty()) continue;
    auto link = OpensmLink::start(running.opensm_socket, *running.controller, log_.span("subnet", running.name));
    if (!link) return std::unexpected(link.error());
    running.opensm = std::move(*link);
  }
  for (auto& running : running_) {
    running.worker->start([this, &running](Worker::Turn& turn) { run(running, turn); });
  }
  return {};
}

void LiveSubnets::stop() {
  for (auto& running : running_) running.worker->ask_to_end();
  for (auto& running : running_) {
    running.worker->stop();
    running.opensm.reset();
    running.controller->refuse_requests();
  }
}

void LiveSubnets::step(std::chrono::milliseconds wait) {
  for (auto& running : running_) running.controller->step(loop_.state(), wait);
}

void LiveSubnets::run(Running& running, Worker::Turn& turn) {
  while (!turn.is_to_end()) {
    const ClusterStatePtr state = loop_.state();
    if (running.opensm) running.opensm->follow(*state, running.controller->opensm_ports(), loop_.term());
    // OpenSM's reports come from its plugin's thread: a shorter wait handles them sooner.
    running.controller->step(state, running.opensm ? kListenToOpensm : kListen);
    if (running.controller->status()->phase == SubnetPhase::offline) turn.pause(kOffline);
  }
}

void LiveSubnets::report(decltype(Command::body) body, std::string request) {
  // Where the queue is full, the next report contains what this one did.
  const log::Log log = log_.span("round", request);
  const bool queued =
      loop_.submit({"fabric", std::move(body), {.request_id = std::move(request)}}, [log](const CommandResult& result) {
        if (!result) log.warn("a report from the fabric was not recorded: {}", result.error().error.text());
      });
  if (!queued) log.warn("a report from the fabric was not recorded: too many changes are waiting");
}

std::vector<SubnetStatusPtr> LiveSubnets::subnets() const {
  std::vector<SubnetStatusPtr> all;
  for (const auto& running : running_) all.push_back(running.controller->status());
  return all;
}

SubnetStatusPtr LiveSubnets::subnet(std::string_view name) const {
  const auto found = std::ranges::find(running_, name, &Running::name);
  return found == running_.end() ? nullptr : found->controller->status();
}

std::optional<PortProgress> LiveSubnets::port_progress(std::string_view name) const {
  const auto found = std::ranges::find(running_, name, &Running::name);
  return found == running_.end() ? std::nullopt : std::optional(found->controller->port_progress());
}

void LiveSubnets::ask(std::string_view subnet, Request request, Completion done) {
  const auto found = std::ranges::find(running_, subnet, &Running::name);
  if (found != running_.end()) return found->controller->ask(request, std::move(done));
  done(fail(ErrorKind::conflict, "subnets.notLive", fmt::format("there is no live connection to subnet '{}'", subnet),
            {}, "configure one: [[subnet]] in railweaved's configuration"));
}

void LiveSubnets::release(std::string_view subnet, const std::string& link) {
  const auto found = std::ranges::find(running_, subnet, &Running::name);
  if (found != running_.end()) found->controller->release(link);
}

std::optional<PortCounters> LiveSubnets::counters(const fabric::Topology& topology, fabric::PortId port) const {
  for (const auto& running : running_) {
    if (auto counters = running.controller->counters(topology, port)) return counters;
  }
  return std::nullopt;
}

std::optional<PastCounters> LiveSubnets::counters_at(const fabric::Topology& topology, fabric::PortId port,
                                                     std::int64_t at_us) const {
  for (const auto& running : running_) {
    if (auto counters = running.controller->counters_at(topology, port, at_us)) return counters;
  }
  return std::nullopt;
}

ArchivedPorts LiveSubnets::archive(const fabric::Topology& topology, std::span<const fabric::PortId> ports,
                                   fabric::health::ArchiveRing ring) const {
  ArchivedPorts ranges(ports.size());
  for (const auto& running : running_) running.controller->archive(topology, ports, ring, ranges);
  return ranges;
}

}  // namespace railweave::control
