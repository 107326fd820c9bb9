// A random fabric on which jobs with lanes of their own were admitted, its ports' tables as plan_infiniband() makes them, and the
// packets of a network that has them (lane_network.h): jobs that keep to their guarantee, and everybody else, who does not.
#pragma once

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "fabric/capacity/lane_owners.h"
#include "fabric/qos/infiniband_plan.h"
#include "tests/unit/admission/admitted_site.h"
#include "tests/unit/admission/lane_network.h"

namespace railweave::scheduler::testing {

using namespace fabric;  // NOLINT: this file is about its types

inline constexpr unsigned kMtus[] = {256, 512, 1024, 2048, 4096};
inline constexpr std::int64_t kHeaders = 126;  // the most that a packet has beside its payload

enum class Planted : std::uint8_t {
  nothing,
  weights_swapped,
  high_limit_0,
  two_jobs_on_one_lane,
  filter_left_out,
  others_of_the_lane
};

// What ports do with a lane's level: as it comes from a host that has no job with that lane, nothing; or packets are on a lane
// only where it has the same owner on the link that they came by, else discarded: in a lower class they would be back on the lane at
// the next switch, which sees their level and not the lane that they came on.
enum class Filter : std::uint8_t { by_host, by_owner, as_planned };

struct Tally {
  std::size_t fabrics = 0, flows = 0, below = 0, floods = 0;
  std::int64_t bytes = 0, discarded = 0, looks = 0;
  double worst = 1;
  double most_short =
      -1e9;  // of its bound, in packets, that a lane of its own was on any link (lane_network.h); at most 0
};

class LaneSite {
 public:
  // surviving: any single link failure; claiming: they say so, with what they need as it is.
  enum class Jobs : std::uint8_t { as_they_are, surviving, claiming };
  explicit LaneSite(std::uint64_t seed, Jobs jobs = Jobs::as_they_are)
      : random_(seed * 77),
        jobs_(jobs),
        fabric_(fabric::testing::random_fabric(seed, seed % 3 == 0   ? fabric::testing::Health::even
                                                     : seed % 3 == 1 ? fabric::testing::Health::uneven
                                                                     : fabric::testing::Health::failures)) {
    mtu_ = kMtus[random_() % 5];
    limits_ = {.entries = std::size_t{8} << random_() % 3, .mtu_bytes = mtu_};
    classes_ = {{"bulk", 600, 0, ClassBound::bandwidth, true, 26},
                {"storage", 150, 1, ClassBound::bandwidth, true, 10},
                {"best-effort", 100, 2, ClassBound::bandwidth, false, 0}};
    ledger_ = Ledger(whole_capacities_mbps(fabric_.view), capacity_rules(classes_));
  }

  // Whether there is something to simulate: routes that need one lane, jobs with lanes.
  bool admit() {
    if (fabric_.routing.lanes.used() > 1 || fabric_.ends.size() < 4) return false;
    const RoutingLanes routing = routing_lanes(fabric_.view, *fabric_.scope, fabric_.routing.lanes, SubnetId());
    const unsigned data_lanes = random_() % 2 == 0 ? 8 : 15;
    const unsigned lanes = owned_lanes(classes_.size(), routing, data_lanes);
    HoseLoads loads(fabric_.view, fabric_.routing.tables);
    const SurvivingLoadOf surviving = [&](const Reservation& wanted) {
      auto made = load_surviving_failures(wanted, loads, fabric::testing::failure_routes(fabric_));
      if (made) not_covered_[wanted.job] = made->not_covered;
      return made;
    };
    BandwidthAdmission admission(classes_, ledger_, loads, surviving, limits_, routing.lanes, lanes);
    for (int job = 0; job < 24; ++job) {
      Contract contract{.tenant = "t", .guaranteed = RateMbps(static_cast<std::int64_t>(5'000 + random_() % 120'000))};
      contract.isolation = Isolation::lane;
      contract.survives_link_failure = jobs_ == Jobs::surviving;
      contract.classes = {classes_[random_() % 2].name};
      auto ends = fabric_.ends;
      std::ranges::shuffle(ends, random_);
      ends.resize(std::min<std::size_t>(ends.size(), 2 + random_() % 5));
      BandwidthRequest request{.job = "job-" + std::to_string(job), .ports = ends};
      request.order = static_cast<std::uint64_t>(job);
      const auto result = admission.admit(contract, request);
      const auto* admitted = std::get_if<Admitted>(&result);
      if (admitted == nullptr || !admitted->reservation->lane) continue;
      auto reservation = std::make_shared<Reservation>(*admitted->reservation);
      if (jobs_ == Jobs::claiming) reservation->survives_link_failure = true;
      ledger_.reserve(std::move(reservation));
    }
    auto plan = plan_infiniband({.classes = &classes_,
                                 .view = fabric_.view,
                                 .scope = fabric_.scope,
                                 .lanes = &fabric_.routing.lanes,
                                 .ledger = &ledger_,
                                 .owned_lanes = true,
                                 .users = users(),
                                 .data_lanes = data_lanes,
                                 .arbitration = limits_});
    EXPECT_TRUE(plan) << plan.error().text();
    if (!plan || ledger_.reservations().empty()) return false;
    plan_ = std::move(*plan);
    return true;
  }

  // After each failure that a job survives, its packets on the routes of then reach their ends on its lane by the maps of before:
  // routes may change before tables do. The number of paths, and of those on which a map drops or leads elsewhere.
  std::pair<std::size_t, std::size_t> walk_after_failures() const {
    const Topology& t = fabric_.view.topology();
    std::map<PortRef, const PortTables*> tables;
    for (const PortTables& one : plan_.ports) tables[one.port] = &one;
    std::pair<std::size_t, std::size_t> counts;
    for (const LinkId link : t.links()) {
      if (!t.joins_switches(link) || !fabric_.view.alive(link)) continue;
      const auto failed = fabric::testing::fail_one(fabric_, link);
      for (const ReservationPtr& job : ledger_.reservations()) {
        const auto known = not_covered_.find(job->job);
        if (known != not_covered_.end() && std::ranges::find(known->second, link) != known->second.end()) continue;
        for (const HosePort& from : job->ports) {
          for (const HosePort& to : job->ports) {
            std::vector<DirectedLink> links;
            if (from.port == to.port ||
                !PathWalker(failed.view, failed.routing.tables).append({from.port, to.port}, links)) {
              continue;
            }
            ++counts.first;
            for (std::size_t hop = 1; hop < links.size(); ++hop) {
              const PortId in = t.peer(out_port_of(t, links[hop - 1])), out = out_port_of(t, links[hop]);
              const PortTables& port = *tables.at({t.guid(t.switch_of(out)), static_cast<std::uint8_t>(t.number(out))});
              const auto lane = port.sl_to_vl_from(static_cast<unsigned>(t.number(in)))[level_of(*job)];
              if (lane == plan_.owned_lane(*job->lane, 0)) continue;
              ++counts.second;
              break;
            }
          }
        }
      }
    }
    return counts;
  }

  void simulate(Planted planted, Filter filter, Tally& tally) {
    planted_ = planted;
    LaneNetwork network(4 * std::int64_t{kMaxWeight} * 64, random_());
    for (const PortTables& port : plan_.ports) add_port(network, port);
    if (planted != Planted::filter_left_out && filter != Filter::as_planned) add_host_filters(network);
    if (planted != Planted::filter_left_out && filter == Filter::as_planned) add_planned_filters(network);
    if (filter == Filter::by_owner) add_owner_filters(network);
    add_jobs(network);
    const std::size_t promised = kept_.size();
    if (promised == 0) return;
    add_floods(network, tally);
    network.run(std::int64_t{16} << 20U);
    ++tally.fabrics;
    tally.bytes += network.sent_bytes();
    tally.discarded += network.discarded_packets();
    tally.looks += network.looks();
    tally.most_short = std::max(tally.most_short, network.most_short());
    for (std::size_t f = 0; f < promised; ++f) {
      ++tally.flows;
      const std::int64_t made = network.made_bytes(f), arrived = network.arrived_bytes(f) + in_flight(kept_[f]);
      tally.below += arrived < made ? 1U : 0U;
      tally.worst = std::min(tally.worst, static_cast<double>(arrived) / static_cast<double>(made));
    }
  }

 private:
  struct Kept {
    std::vector<DirectedLink> path;
    double rate = 0;
    unsigned level = 0;
  };

  DirectedLink link_of_port(PortRef port) const {
    const Topology& t = fabric_.view.topology();
    const SwitchId sw = t.find_switch(port.device);
    const auto at = port.port - 1U;
    return directed_link(t, sw ? t.ports(sw)[at] : t.ports(t.find_hca(port.device))[at]);
  }

  void add_port(LaneNetwork& network, const PortTables& tables) {
    LanePort port;
    port.lane_of_level = {};
    for (std::size_t level = 0; level < 16; ++level) port.lane_of_level[level] = (*tables.sl_to_vl)[level];
    for (const VlWeight entry : tables.arbitration->high) port.high.push_back({entry.vl, entry.weight});
    for (const VlWeight entry : tables.arbitration->low) port.low.push_back({entry.vl, entry.weight});
    port.high_limit = tables.arbitration->high_limit.value_or(0);
    const DirectedLink link = link_of_port(tables.port);
    std::int64_t round = 0;
    for (const auto& entry : port.low) round += entry.weight * 64 + mtu_ + kHeaders;
    rounds_[link] = round;
    const LanePort planned = port;
    const unsigned lowest = plan_.lane(lowest_class(classes_), 0);
    const auto first_own = static_cast<unsigned>(classes_.size());
    if (planted_ == Planted::weights_swapped) {
      const auto lowest_entry = std::ranges::find(port.low, lowest, &LanePort::Entry::lane);
      for (auto& entry : port.low) {
        if (entry.lane >= first_own) std::swap(entry.weight, lowest_entry->weight);
      }
    }
    if (planted_ == Planted::high_limit_0) {
      for (const auto& entry : port.low) {
        if (entry.lane < first_own) port.high.push_back(entry);
      }
      std::erase_if(port.low, [&](const auto& entry) { return entry.lane < first_own; });
    }
    network.add_port(link, std::move(port));
    for (const ReservationPtr& job : ledger_.reservations()) {
      const auto load = std::ranges::find(job->loads, link, &LinkLoad::link);
      if (load == job->loads.end()) continue;
      const unsigned lane = plan_.owned_lane(*job->lane, 0);
      std::int64_t others = 0;
      for (const auto& entry : planned.low) {
        others += entry.lane == lane || entry.weight == 0 ? 0 : entry.weight * 64 + mtu_ + kHeaders;
      }
      const double share = static_cast<double>(load->mbps) / static_cast<double>(ledger_.capacity_mbps(link));
      network.watch(link, lane, share, others, mtu_ + kHeaders);
    }
  }

  [[nodiscard]] std::vector<IngressUser> users() const {
    std::vector<IngressUser> users;
    for (const ReservationPtr& job : ledger_.reservations()) {
      for (const HosePort& port : job->ports) {
        users.push_back({.port = port.port, .qos_class = job->qos_class, .lane = job->lane, .earlier_levels = 0});
      }
    }
    return users;
  }

  // As the tables of switches say for each input port; classes stay open, for the floods are in all of them.
  void add_planned_filters(LaneNetwork& network) {
    const Topology& t = fabric_.view.topology();
    for (const PortTables& tables : plan_.ports) {
      const SwitchId sw = t.find_switch(tables.port.device);
      if (!sw) continue;
      const PortId out = t.ports(sw)[tables.port.port - 1U];
      for (const PortId in : t.ports(sw)) {
        if (!t.peer(in) || in == out) continue;
        const auto map = tables.sl_to_vl_from(static_cast<unsigned>(t.number(in)));
        for (unsigned lane = 0; lane < plan_.owned_lanes; ++lane) {
          const unsigned level = plan_.owned_level(lane, 0);
          if (map[level] != 15) continue;
          network.set_lane(directed_link(t, t.peer(in)), directed_link(t, out), level, kDiscarded);
        }
      }
    }
  }

  // By the jobs alone: what they are, where they run and which lane they have.
  void add_host_filters(LaneNetwork& network) {
    const Topology& t = fabric_.view.topology();
    for (const PortId host : fabric_.ends) {
      const PortId leaf_port = t.peer(host);
      if (!leaf_port || !t.is_switch_port(leaf_port)) continue;
      unsigned own = 0;
      for (const ReservationPtr& job : ledger_.reservations()) {
        const bool here = std::ranges::find(job->ports, host, &HosePort::port) != job->ports.end();
        if (here) own |= 1U << level_of(*job);
      }
      for (const PortId out : t.ports(t.switch_of(leaf_port))) {
        if (!t.peer(out) || out == leaf_port) continue;
        for (unsigned lane = 0; lane < plan_.owned_lanes; ++lane) {
          const unsigned level = plan_.owned_level(lane, 0);
          if ((own >> level & 1U) == 0) {
            network.set_lane(directed_link(t, host), directed_link(t, out), level, kDiscarded);
          }
        }
      }
    }
  }

  void add_owner_filters(LaneNetwork& network) {
    const Topology& t = fabric_.view.topology();
    std::map<std::pair<DirectedLink, unsigned>, const Reservation*> owner;  // by link and level
    for (const ReservationPtr& job : ledger_.reservations()) {
      for (const LinkLoad& load : job->loads) owner[{load.link, level_of(*job)}] = job.get();
    }
    for (const auto& [where, job] : owner) {
      const auto [out, level] = where;
      const PortId leaves_by = out_port_of(t, out);
      if (!t.is_switch_port(leaves_by)) continue;
      for (const PortId port : t.ports(t.switch_of(leaves_by))) {
        if (!t.peer(port) || port == leaves_by) continue;
        const DirectedLink in = directed_link(t, t.peer(port));
        const auto came_with = owner.find({in, level});
        if (came_with != owner.end() && came_with->second == job) continue;
        network.set_lane(in, out, level, kDiscarded);
      }
    }
  }

  [[nodiscard]] unsigned level_of(const Reservation& job) const { return plan_.owned_level(*job.lane, 0); }

  void send(LaneNetwork& network, const std::vector<DirectedLink>& path, unsigned level, double rate, bool full) {
    LaneNetwork::Source source{.path = path, .level = level, .rate = rate};
    source.most = (full ? mtu_ : std::min(mtu_, kMtus[random_() % 5])) + kHeaders;
    source.least = full ? source.most : 64;
    network.add_flow(source);
  }

  std::vector<DirectedLink> path(PortId from, PortId to) const {
    std::vector<DirectedLink> links;
    PathWalker(fabric_.view, fabric_.routing.tables).append({from, to}, links);
    return links;
  }

  // Every other job keeps to its guarantee, as a matching or an incast; flows of these come first.
  void add_jobs(LaneNetwork& network) {
    const auto jobs = ledger_.reservations();
    for (std::size_t j = 0; j < jobs.size(); j += 2) {
      const auto& ports = jobs[j]->ports;
      keepers_.insert(jobs[j].get());
      const double capacity = static_cast<double>(ledger_.capacity_mbps(jobs[j]->loads.front().link));
      const bool incast = random_() % 2 == 0;
      for (std::size_t i = 0; i < ports.size(); ++i) {
        const PortId to = incast ? ports[0].port : ports[(i + 1) % ports.size()].port;
        if (to == ports[i].port) continue;
        double rate = static_cast<double>(ports[i].send_mbps) / capacity;
        if (incast) rate /= static_cast<double>(ports.size() - 1);
        const auto links = path(ports[i].port, to);
        if (links.empty()) continue;  // of another plane
        kept_.push_back({links, rate, level_of(*jobs[j])});
        victims_.push_back(to);
        levels_.push_back(level_of(*jobs[j]));
        send(network, links, levels_.back(), rate, false);
      }
    }
  }

  void flood(LaneNetwork& network, PortId from, PortId to, unsigned level, Tally& tally) {
    const auto links = from == to ? std::vector<DirectedLink>() : path(from, to);
    if (links.empty()) return;
    send(network, links, level, 2, random_() % 2 == 0);
    ++tally.floods;
  }

  void add_floods(LaneNetwork& network, Tally& tally) {
    const auto jobs = ledger_.reservations();
    for (std::size_t j = 1; j < jobs.size(); j += 2) {  // far above their maximum, in their own lane
      for (const HosePort& from : jobs[j]->ports) {
        for (const HosePort& to : jobs[j]->ports) flood(network, from.port, to.port, level_of(*jobs[j]), tally);
        if (planted_ == Planted::two_jobs_on_one_lane) {
          for (std::size_t v = 0; v < victims_.size(); ++v) flood(network, from.port, victims_[v], levels_[v], tally);
        }
      }
    }
    for (const PortId from : fabric_.ends) {
      const std::size_t v = random_() % victims_.size();
      for (unsigned c = 0; c < classes_.size(); ++c) {
        flood(network, from, fabric_.ends[random_() % fabric_.ends.size()], plan_.service_level(c, 0), tally);
        flood(network, from, victims_[v], plan_.service_level(c, 0), tally);
      }
      // With the level of a lane that another job has; a host that has a job with that lane only if that is what is planted.
      bool has_level = false, keeps = false;
      for (const ReservationPtr& job : jobs) {
        const bool here = std::ranges::find(job->ports, from, &HosePort::port) != job->ports.end();
        has_level = has_level || (here && level_of(*job) == levels_[v]);
        keeps = keeps || (here && level_of(*job) == levels_[v] && keepers_.contains(job.get()));
      }
      if (!has_level || (!keeps && planted_ == Planted::others_of_the_lane))
        flood(network, from, victims_[v], levels_[v], tally);
    }
  }

  // What a flow may have on its way. Each port serves its lane within one packet per visit (lane_network.h), so late by at most a
  // round; a flow that is alone on its lane all along waits at each hop for one, and has one packet in it, beside the one that its
  // source makes. Flows of one job wait for each other's packets as well where they meet: twice that.
  [[nodiscard]] std::int64_t in_flight(const Kept& flow) const {
    const auto is_met = [&](const Kept& other) {
      return &other != &flow && other.level == flow.level && std::ranges::any_of(other.path, [&](DirectedLink link) {
        return std::ranges::find(flow.path, link) != flow.path.end();
      });
    };
    const int times = std::ranges::any_of(kept_, is_met) ? 2 : 1;
    std::int64_t bytes = mtu_ + kHeaders;
    for (const DirectedLink link : flow.path) {
      bytes += times * (static_cast<std::int64_t>(flow.rate * static_cast<double>(rounds_.at(link))) + mtu_ + kHeaders);
    }
    return bytes;
  }

  std::mt19937_64 random_;
  Jobs jobs_;
  std::map<std::string, std::vector<LinkId>> not_covered_;  // by job: failures that cut it off
  fabric::testing::Routed fabric_;
  QosClasses classes_;
  unsigned mtu_ = 0;
  ArbitrationLimits limits_;
  Ledger ledger_;
  InfinibandPlan plan_;
  Planted planted_ = Planted::nothing;
  std::map<DirectedLink, std::int64_t>
      rounds_;  // bytes of a round of the planned table, a packet too much in every turn
  std::vector<Kept> kept_;
  std::vector<PortId> victims_;           // where kept flows end
  std::vector<unsigned> levels_;          // of kept flows
  std::set<const Reservation*> keepers_;  // jobs of kept flows
};

}  // namespace railweave::scheduler::testing
