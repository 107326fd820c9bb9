// What jobs that hold a guarantee may put on each link, their traffic to other roles included: every pair of ports is walked, and
// every set of senders tried (the smallest cut is the largest flow).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "services/control/views/guarantee_book.h"

namespace railweave::control::testing {

using namespace fabric;  // NOLINT: this file is about its types

struct NaiveRates {
  std::int64_t send = 0, receive = 0;
};
using PortRates = std::map<PortId, NaiveRates>;

// Each host of these fabrics has one adapter of one port.
inline std::set<PortId> naive_ports(const ClusterState& state, const Job& job) {
  std::set<PortId> ports;
  for (const GpuId gpu : job.placement.gpu_of_rank)
    ports.insert(*state.topology().ports(state.topology().nics(gpu).front()).begin());
  return ports;
}

inline PortRates promised(const ClusterState& state, const Job& job) {
  PortRates rates;
  const std::int64_t own = job.guarantee->rate.value();
  for (const PortId port : naive_ports(state, job)) rates[port] = {own, own};
  if (!job.spec.bandwidth || !job.spec.bandwidth->between_roles) return rates;
  std::set<std::uint64_t> receivers;
  for (const scheduler::RolePeer& peer : job.spec.peers) {
    if (peer.sends) receivers.insert(peer.job);
  }
  for (const std::uint64_t number : receivers) {
    const JobPtr receiver = state.jobs.find(JobId(number));
    if (receiver == nullptr || receiver->state != JobState::placed) continue;
    for (const PortId port : naive_ports(state, *receiver))
      rates[port].receive += job.spec.bandwidth->between_roles->value();
  }
  return rates;
}

inline std::vector<DirectedLink> walk(const FabricRoutes& routes, PortId from, PortId to) {
  const Topology& t = routes.scope().topology();
  std::vector<DirectedLink> links{directed_link(t, from)};
  const DestinationId destination = routes.scope().find(to);
  for (PortId at = t.peer(from); at != to;) {
    const auto out = routes.routing.tables.out_port(t.switch_of(at), destination);
    if (out == 0 || out == kNoPort || links.size() > 9) return {};
    const PortId port = t.ports(t.switch_of(at))[out - 1];
    if (!routes.input.view.alive(t.link(port))) return {};
    links.push_back(directed_link(t, port));
    at = t.peer(port);
  }
  return links;
}

// Of all sets of senders the one behind which the least gets through: the others send all, these fill what they reach.
inline std::int64_t most(const PortRates& rates, const std::map<PortId, std::set<PortId>>& reached) {
  std::vector<PortId> senders;
  for (const auto& [from, to] : reached) senders.push_back(from);
  std::int64_t least = INT64_MAX;
  for (std::uint32_t set = 0; set < 1U << senders.size(); ++set) {
    std::int64_t through = 0;
    std::set<PortId> filled;
    for (std::size_t i = 0; i < senders.size(); ++i) {
      if ((set >> i & 1U) == 0) {
        through += rates.at(senders[i]).send;
      } else {
        filled.insert(reached.at(senders[i]).begin(), reached.at(senders[i]).end());
      }
    }
    for (const PortId to : filled) through += rates.at(to).receive;
    least = std::min(least, through);
  }
  return least;
}

struct NaiveRoles {
  std::map<std::pair<DirectedLink, std::size_t>, std::int64_t> mbps;
  bool at_least = false;  // some jobs have more reserved, for failures
};

inline NaiveRoles naive_roles(const ClusterState& state, const FabricRoutes& routes) {
  NaiveRoles all;
  for (const JobId id : *state.guaranteed) {
    const JobPtr job = state.jobs.find(id);
    if (job->guarantee->at_risk()) continue;
    all.at_least = all.at_least || job->guarantee->covered;
    const PortRates rates = promised(state, *job);
    std::map<DirectedLink, std::map<PortId, std::set<PortId>>> across;
    for (const auto& [from, out] : rates) {
      for (const auto& [to, in] : rates) {
        if (from == to || out.send == 0) continue;
        for (const DirectedLink link : walk(routes, from, to)) across[link][from].insert(to);
      }
    }
    const auto at = std::ranges::find(*state.qos_classes, job->guarantee->qos_class, &QosClass::name);
    for (const auto& [link, reached] : across) {
      all.mbps[{link, static_cast<std::size_t>(at - state.qos_classes->begin())}] += most(rates, reached);
    }
  }
  return all;
}

}  // namespace railweave::control::testing
