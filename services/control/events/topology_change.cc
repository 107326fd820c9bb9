#include "services/control/events/topology_change.h"

#include <algorithm>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/placement/score/summary.h"
#include "services/control/events/apply.h"
#include "services/control/events/changed_table.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {
namespace {

// Tables were read of the topology before.
void forget_tables(ClusterState& state, const Event& event) {
  if (state.subnet_tables->empty()) return;
  change(state.subnet_tables, [&](auto& tables) {
    for (auto& [subnet, now] : tables) {
      now = {.reason = "the fabric was accepted again, and its switches were not read since",
             .since_us = event.time_us,
             .version = event.seq};
    }
  });
}

// Drains follow the nodes that they are of.
void rename_drains(ClusterState& state, const fabric::RenamedHosts& renamed, const Event& event) {
  if (renamed.empty() || state.drains->empty()) return;
  change(state.drains, [&](auto& drains) {
    DrainTable kept;
    for (const auto& [target, drain] : drains) {
      const auto now = renamed_target(target, renamed);
      if (!now) continue;
      Drain moved = drain;
      moved.target = *now;
      if (*now != target) moved.version = event.seq;
      kept.insert_or_assign(*now, std::move(moved));
    }
    drains = std::move(kept);
  });
}

// Hosts keep their indices by name.
void keep_indices(ClusterState& state, const fabric::Topology& before, const ChunkedVector<HostKeys>& keys_before) {
  for (std::size_t i = 0; i < keys_before.size(); ++i) {
    if (keys_before[i].empty()) continue;
    const auto host = state.topology().find_host(before.name(before.hosts()[i]));
    if (!host || state.allocations[host.index()].used == 0) continue;
    std::vector<std::uint16_t> pkeys;
    for (const auto& slot : keys_before[i].slots) pkeys.push_back(slot.pkey);
    HostKeys& keys = state.host_keys.write(host.index());
    keys.arrange(pkeys);
    keys.limited = keys_before[i].limited;
  }
}

}  // namespace

void apply_topology(ClusterState& state, const TopologyAccepted& body, const Event& event) {
  const fabric::TopologyPtr before = state.accepted.topology;
  const auto keys_before = state.host_keys;
  std::shared_ptr<const AcceptedTopology> intended;
  if (!body.as_cabled.empty()) {
    intended =
        state.accepted.intended ? state.accepted.intended : std::make_shared<const AcceptedTopology>(state.accepted);
    if (intended->digest == body.digest) intended.reset();
  }
  state.accepted = {before, body.digest, body.source, event.seq, std::move(intended)};
  rename_drains(state, body.renamed, event);
  state.set_topology(body.topology);
  state.view_version = event.seq;
  // Jobs keep their nodes and GPUs; decide() has moved or ended the jobs that the new fabric cannot hold.
  std::vector<JobPtr> moved;
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    auto renamed = std::make_shared<Job>(*job);
    renamed->move.reset();  // its plan was made for the fabric before; set_topology() holds no places
    if (job->holds_gpus()) {
      const auto gpus = map_gpus(*before, *body.topology, job->placement.gpu_of_rank, body.renamed);
      RAILWEAVE_CHECK(gpus.has_value(), "decide() ends the jobs that a new fabric cannot hold");
      renamed->placement.gpu_of_rank = *gpus;
      // Idle GPUs that the new fabric lacks are dropped: no rank runs there.
      renamed->placement.idle_gpus.clear();
      for (const auto gpu : job->placement.idle_gpus) {
        if (const auto idle = map_gpus(*before, *body.topology, {gpu}, body.renamed))
          renamed->placement.idle_gpus.push_back(idle->front());
      }
      std::ranges::sort(renamed->placement.idle_gpus);
      for (auto& role : renamed->placement.cpu_seats) {
        for (auto& node : role.nodes) node = fabric::name_after(body.renamed, node);
      }
      scheduler::summarize(state.placement_fabric->as_cabled(), job->spec.parallelism, renamed->placement);
      renamed->nodes = node_names(*body.topology, renamed->placement.gpu_of_rank);
    } else {
      renamed->placement.gpu_of_rank.clear();
      renamed->placement.idle_gpus.clear();
      renamed->placement.cpu_seats.clear();
    }
    if (renamed->launch) {
      std::vector<std::string> left;
      for (const auto& gpu : std::exchange(renamed->launch->left, {})) {
        if (auto now = renamed_target({DrainKind::gpu, gpu}, body.renamed)) left.push_back(std::move(now->id));
      }
      renamed->launch->left = std::move(left);
    }
    moved.push_back(std::move(renamed));
    return true;
  });
  for (const auto& job : moved) {
    state.jobs.put(job);
    if (job->holds_gpus()) state.hold_gpus(*job, true);
    if (job->launch && !job->launch->left.empty()) state.leave_gpus(*job, true);
  }
  keep_indices(state, *before, keys_before);
  change(state.reservations, [&](auto& reservations) {
    for (auto& [name, reservation] : reservations) {
      std::vector<fabric::GpuId> kept;  // GPUs that the new fabric still has
      for (const auto gpu : reservation.window.gpus) {
        if (const auto mapped = map_gpus(*before, *body.topology, {gpu}, body.renamed)) kept.push_back(mapped->front());
      }
      std::ranges::sort(kept);
      reservation.window.gpus = std::move(kept);
      for (auto& node : reservation.drained) node = fabric::name_after(body.renamed, node);
      std::erase(reservation.drained, "");
    }
  });
  state.queue_version = event.seq;
  forget_tables(state, event);
}

}  // namespace railweave::control
