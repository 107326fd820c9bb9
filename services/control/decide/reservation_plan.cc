#include "services/control/decide/reservation_plan.h"

#include <set>

#include <fmt/core.h>

#include "scheduler/queue/reservation.h"
#include "services/control/decide/queue_runner.h"
#include "services/control/decide/tenant_limit.h"

namespace railweave::control {

using scheduler::QueueWindow;

Result<QueueWindow> plan_window(const ClusterState& state, const PutReservation& command, std::int64_t now_us,
                                PlacerCache& placers) {
  const auto wrong = [&](std::string message, std::string where) {
    return fail(ErrorKind::invalid, "reservations.invalid", std::move(message), std::move(where));
  };
  if (command.to_us <= command.from_us) return wrong("the reservation ends before it begins", "/to");
  if (command.to_us <= now_us) return wrong("the reservation ends in the past", "/to");
  if (!state.reservations->contains(command.name) &&
      state.reservations->size() >= scheduler::QueuePolicy::kMaxWindows) {
    return fail(ErrorKind::conflict, "reservations.tooMany",
                fmt::format("there are already {} reservations, which is the limit", state.reservations->size()), {},
                "remove one first");
  }
  if (command.kind == QueueWindow::Kind::maintenance) {
    if (command.nodes.empty()) return wrong("maintenance needs at least one node", "/nodes");
    QueueWindow window{command.kind, command.name, command.from_us, command.to_us, {}, {}};
    std::set<fabric::HostId> hosts;
    for (const auto& name : command.nodes) {
      const auto host = state.topology().find_host(name);
      if (!host) return fail(ErrorKind::notFound, "nodes.notFound", "there is no node '" + name + "'", "/nodes");
      hosts.insert(host);
    }
    for (const auto host : hosts) {
      for (const auto gpu : state.topology().gpus(host)) window.gpus.push_back(gpu);
    }
    return window;
  }
  if (!state.tenants->contains(command.shape.tenant)) {
    return std::unexpected(unknown_tenant(command.shape.tenant));
  }
  QueueFacts facts(state, now_us);
  std::erase_if(facts.policy.windows, [&](const QueueWindow& window) { return window.name == command.name; });
  scheduler::Placer& placer = placers.at(state);
  auto window = scheduler::plan_reservation(
      placer, facts.policy, facts.running,
      {.name = command.name, .shape = command.shape, .from_us = command.from_us, .to_us = command.to_us}, now_us);
  placer.sync(state.allocations);
  return window;
}

}  // namespace railweave::control
