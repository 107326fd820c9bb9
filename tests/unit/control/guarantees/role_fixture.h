// Gangs of two roles of which one sends to the other, one by one and by chance.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "services/control/views/role_receivers.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::testing {

using namespace fabric;  // NOLINT: this file is about its types

inline SubmitJob role(const char* name, std::uint32_t hosts, std::int64_t between_gbps, scheduler::RolePeer peer) {
  SubmitJob job = Cluster::job("t", hosts);
  job.spec.name = name;
  job.spec.peers = {std::move(peer)};
  job.spec.bandwidth.emplace();
  if (between_gbps > 0) job.spec.bandwidth->between_roles = RateMbps(between_gbps * 1000);
  return job;
}

struct Pair {
  SubmitJob sender, receiver;
};
inline Pair pair(const ClusterState& state, std::uint32_t senders, std::uint32_t receivers, std::int64_t between_gbps) {
  const std::uint64_t next = state.jobs.next_id().number();
  return {role("prefill", senders, between_gbps, {next + 1, "decode", true, 1e9, {}, false}),
          role("decode", receivers, 0, {next, "prefill", false, 1e9, {}, true})};
}

inline std::vector<std::string> nodes(unsigned first, unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = first; i < first + count; ++i) names.push_back("node-" + std::to_string(i));
  return names;
}

// Jobs of gangs that start, move and end while links fail and the contract changes.
struct RandomRoles {
  explicit RandomRoles(unsigned seed) : random(seed) {}
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random() % n); }
  JobPtr some_job() {
    std::vector<JobPtr> running;
    cluster.state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      if (job->state == JobState::placed) running.push_back(job);
      return true;
    });
    return running.empty() ? nullptr : running[pick(running.size())];
  }
  void submit() {
    Pair gang = pair(cluster.state, static_cast<std::uint32_t>(1 + pick(4)), static_cast<std::uint32_t>(1 + pick(5)),
                     static_cast<std::int64_t>(pick(4) * 10));
    if (pick(3) == 0) gang.receiver.spec.bandwidth->guaranteed = RateMbps(0);
    if (pick(3) == 0) {  // and back
      gang.receiver.spec.peers.push_back({gang.receiver.spec.peers.front().job, "prefill", true, 1e9, {}, true});
      gang.sender.spec.peers.push_back({gang.sender.spec.peers.front().job, "decode", false, 1e9, {}, false});
      if (!gang.receiver.spec.bandwidth->guaranteed) gang.receiver.spec.bandwidth->between_roles = RateMbps(5'000);
    }
    if (!cluster.ask(gang.sender)) return;
    const JobId sender = cluster.last_job;
    if (cluster.ask(gang.receiver)) {
      ++gangs;
    } else {
      ++refused;
      cluster.must(EndJob{sender, JobState::cancelled, {}, {}});
    }
  }
  void move() {
    const JobPtr job = some_job();
    if (job == nullptr) return;
    const std::string node = job->nodes[pick(job->nodes.size())];
    moved += cluster.ask(RepairJob{.id = job->id, .nodes = {node}}) ? 1 : 0;
    if (cluster.state.drains->contains({DrainKind::node, node})) cluster.must(ClearDrain{{DrainKind::node, node}, {}});
  }
  void raise_links() {
    ReportLinks up{"default", {}};
    for (const auto link : cluster.state.topology().links()) {
      up.links.push_back({cluster.state.topology().link_text(link), LinkState::up, false});
    }
    cluster.must(up);
  }
  void step() {
    const auto& t = cluster.state.topology();
    switch (pick(8)) {
      case 0:
      case 1:
      case 2:
        return submit();
      case 3:
        if (const JobPtr job = some_job()) cluster.must(EndJob{job->id, JobState::completed, {}, {}});
        return;
      case 4: {
        const LinkId link(static_cast<std::uint32_t>(pick(t.links().size())));
        return cluster.must(Cluster::report(t.link_text(link), LinkState::down));
      }
      case 5:
        return raise_links();
      case 6:
        return move();
      default: {
        auto terms = cluster.state.contracts->at("t").terms;
        terms.guaranteed = RateMbps(static_cast<std::int64_t>(30'000 + pick(4) * 5'000));
        (void)cluster.ask(PutContract{terms, {}, true});
      }
    }
  }
  // Ports of receivers that guarantees which hold reach to.
  [[nodiscard]] std::size_t reached() {
    std::size_t ports = 0;
    for (const JobId id : *cluster.state.guaranteed) {
      const JobPtr job = cluster.state.jobs.find(id);
      if (job->guarantee->at_risk()) continue;
      for (const auto& one :
           role_receivers(*cluster.state.placement_fabric, cluster.placers.guarantees().routes()->scope(),
                          cluster.state.jobs, job->spec, job->placement.gpu_of_rank)) {
        ports += one.ports;
      }
    }
    return ports;
  }

  std::mt19937 random;
  Cluster cluster{leaves_and_spines(4, 4, 2, 2)};
  std::size_t gangs = 0, refused = 0, moved = 0;
};

}  // namespace railweave::control::testing
