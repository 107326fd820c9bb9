// Whether a host gets onto a lane that a job of its own does not have there: every host, service level and destination is walked
// by tables of routes and maps of service levels, by code of this test alone, on random fabrics with several jobs, before and
// after failures. And whether the packets of jobs arrive on their lanes, also while routes change before tables of ports do.
#include <map>
#include <random>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "fabric/capacity/lane_owners.h"
#include "fabric/capacity/loads_of.h"
#include "fabric/qos/infiniband_plan.h"
#include "tests/unit/capacity/routed_fabrics.h"

namespace railweave::fabric {
namespace {

using testing::Health;

struct Job {
  std::string name;
  std::vector<PortId> ports;
  std::vector<PatternFlow> flows;
  bool survives = false;
  std::uint8_t lane = 0;
};

// One network as it is at a moment, with own walks.
struct Seen {
  const Topology& t;
  const FabricView& view;
  const ForwardingTables& tables;
  std::map<std::pair<Guid, unsigned>, const PortTables*> ports;

  Seen(const FabricView& of_view, const ForwardingTables& of_tables, const InfinibandPlan& plan)
      : t(of_view.topology()), view(of_view), tables(of_tables) {
    for (const PortTables& one : plan.ports) ports[{one.port.device, one.port.port}] = &one;
  }
  struct Hop {
    PortId out;
    unsigned lane;
  };
  struct Path {
    std::vector<Hop> hops;
    bool arrives = false, discarded = false;  // neither: by the tables of routes they do not arrive
  };
  [[nodiscard]] Path walk(PortId from, PortId to, unsigned level) const {
    Path path;
    PortId out = from;
    unsigned in = 0;
    for (int hops = 0; hops < 64; ++hops) {
      const PortId peer = t.peer(out);
      if (!peer || !view.alive(t.link(out))) return path;
      const Guid device = t.is_switch_port(out) ? t.guid(t.switch_of(out)) : t.guid(t.hca_of(out));
      const unsigned lane = ports.at({device, t.number(out)})->sl_to_vl_from(in)[level];
      // A packet that is discarded by a map would have gone on by the tables of routes: it is followed to see.
      path.discarded = path.discarded || lane == kDropLane;
      if (!path.discarded) path.hops.push_back({out, lane});
      if (peer == to) {
        path.arrives = !path.discarded;
        return path;
      }
      if (!t.is_switch_port(peer)) break;
      const SwitchId sw = t.switch_of(peer);
      in = static_cast<unsigned>(t.number(peer));
      const std::uint16_t number = tables.out_port(sw, tables.scope().find(to));
      if (number == kNoPort || number == kPortZero) break;
      out = PortId();
      for (const PortId port : t.ports(sw)) {
        if (static_cast<std::uint16_t>(t.number(port)) == number) out = port;
      }
      if (!out) break;
    }
    path.discarded = false;
    return path;
  }
};

struct LaneSite {
  testing::Routed fabric;
  QosClasses classes = default_qos_classes();
  std::vector<Job> jobs;
  std::uint64_t seed;

  explicit LaneSite(std::uint64_t of)
      : fabric(testing::random_fabric(of, of % 3 == 0   ? Health::failures
                                          : of % 3 == 1 ? Health::uneven
                                                        : Health::even)),
        seed(of) {}

  // Loads of the jobs on these routes, with the lowest lanes that are free.
  Ledger reserve(const FabricView& view, const Routing& routing) {
    Ledger ledger(whole_capacities_mbps(view), capacity_rules(classes));
    HoseLoads loads(view, routing.tables);
    std::vector<Job> kept;
    for (Job job : jobs) {
      Reservation one{.job = job.name, .tenant = "t", .qos_class = 1, .survives_link_failure = job.survives};
      one.promise = job.flows.empty() ? TrafficPromise::hose : TrafficPromise::pattern;
      one.flows = job.flows;
      for (const PortId port : job.ports) {
        if (job.flows.empty()) one.ports.push_back({port, 10, 10});
      }
      PromisedLoad load = load_of_promise(one, loads);
      if (job.survives) {
        auto surviving = load_surviving_failures(one, loads, testing::failure_routes(fabric));
        if (!surviving) continue;
        load = std::move(surviving->worst);
      }
      if (!load.complete || load.loads.empty()) continue;
      one.loads = load.loads;
      const auto own = view.topology_ptr() == fabric.view.topology_ptr() && !kept_lanes.empty()
                           ? std::optional(kept_lanes[job.name])
                           : std::nullopt;
      const auto lane = free_lane(ledger, one.loads, 9, own);
      if (!lane) continue;
      one.lane = job.lane = *lane;
      ledger.reserve(std::make_shared<const Reservation>(std::move(one)));
      kept.push_back(std::move(job));
    }
    running = kept;
    if (kept_lanes.empty()) {
      for (const Job& job : running) kept_lanes[job.name] = job.lane;
    }
    return ledger;
  }
  Result<InfinibandPlan> plan(const Ledger& ledger, const LanePassages& passages) const {
    std::vector<IngressUser> users;
    for (const Job& job : running) {
      for (const PortId port : job.ports) users.push_back({port, std::uint8_t{1}, job.lane, 0});
    }
    return plan_infiniband({.classes = &classes,
                            .view = fabric.view,
                            .scope = fabric.scope,
                            .lanes = &fabric.routing.lanes,
                            .ledger = &ledger,
                            .owned_lanes = true,
                            .users = users,
                            .passages = passages,
                            .data_lanes = 15,
                            .arbitration = {.entries = kMaxArbitrationEntries}});
  }
  std::vector<Job> running;
  std::map<std::string, std::uint8_t> kept_lanes;
};

void add_jobs(LaneSite& site, bool patterns) {
  std::mt19937_64 random(site.seed);
  std::vector<PortId> ends = site.fabric.ends;
  std::ranges::shuffle(ends, random);
  for (unsigned number = 0; ends.size() >= 2 && number < 8; ++number) {
    const std::size_t count = std::min<std::size_t>(ends.size(), 2 + random() % 4);
    Job job{.name = "job-" + std::to_string(number), .survives = random() % 4 == 0};
    job.ports.assign(ends.end() - static_cast<std::ptrdiff_t>(count), ends.end());
    ends.resize(ends.size() - count);
    if (patterns && random() % 3 == 0) {
      for (std::size_t i = 0; i < count; ++i) job.flows.push_back({{job.ports[i], job.ports[(i + 1) % count]}, 10});
    }
    site.jobs.push_back(std::move(job));
  }
}

struct Found {
  std::size_t probes = 0, discarded = 0, leaks = 0, flows = 0, lost = 0, off_lane = 0;
  std::set<std::pair<std::string, std::string>> met;  // who got onto whose lane
  std::string first;
};

// Every host, level and destination; and every pair of each job, which arrives on the job's lane or the lowest class.
Found look(const LaneSite& site, const Seen& seen, const InfinibandPlan& plan, const Ledger& ledger) {
  Found found;
  std::map<std::pair<PortId, unsigned>, std::string> owner;  // by egress port and lane
  for (const ReservationPtr& one : ledger.reservations()) {
    for (const LinkLoad& load : one->loads) {
      for (unsigned l = 0; l < plan.routing_lanes; ++l) {
        owner[{out_port_of(seen.t, load.link), plan.owned_lane(*one->lane, l)}] = one->job;
      }
    }
  }
  std::map<PortId, std::set<std::string>> at;  // jobs by port
  for (const Job& job : site.running) {
    for (const PortId port : job.ports) at[port].insert(job.name);
  }
  for (const PortId from : site.fabric.ends) {
    for (unsigned level = 0; level < 16; ++level) {
      for (const PortId to : site.fabric.ends) {
        if (from == to) continue;
        const auto path = seen.walk(from, to, level);
        ++found.probes;
        found.discarded += path.discarded ? 1 : 0;
        for (const auto& hop : path.hops) {
          if (hop.out == from) continue;  // what an adapter sends itself
          const auto whose = owner.find({hop.out, hop.lane});
          if (whose == owner.end() || at[from].contains(whose->second)) continue;
          ++found.leaks;
          for (const std::string& job : at[from]) found.met.emplace(job, whose->second);
          if (found.first.empty()) {
            found.first = seen.t.port_text(from) + " to " + seen.t.port_text(to) + " level " + std::to_string(level) +
                          " on the lane of " + whose->second + " at " + seen.t.port_text(hop.out);
          }
          break;
        }
      }
    }
  }
  for (const Job& job : site.running) {
    for (const PortId from : job.ports) {
      for (const PortId to : job.ports) {
        if (from == to) continue;
        for (unsigned level = 0; level < plan.routing_levels; ++level) {
          const auto path = seen.walk(from, to, plan.owned_level(job.lane, level));
          ++found.flows;
          found.lost += path.discarded ? 1 : 0;
          for (const auto& hop : path.hops) {
            if (!path.arrives) break;
            const auto whose = owner.find({hop.out, hop.lane});
            found.off_lane += whose == owner.end() || whose->second != job.name ? 1 : 0;
          }
        }
      }
    }
  }
  return found;
}

TEST(LaneLeaks, NoHostGetsOntoTheLaneOfAnother) {
  std::size_t probes = 0, shared = 0, flows = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LaneSite site(seed);
    if (site.fabric.ends.size() > 40) continue;
    add_jobs(site, false);
    const Ledger ledger = site.reserve(site.fabric.view, site.fabric.routing);
    const LanePassages passages = lane_passages(ledger, site.fabric.view, site.fabric.routing.tables);
    EXPECT_TRUE(passages.empty()) << "jobs have their lanes wherever they send";
    const auto plan = site.plan(ledger, passages);
    if (!plan) continue;  // the routing of some needs more lanes than there are
    std::set<unsigned> lanes;
    for (const Job& job : site.running) shared += lanes.insert(job.lane).second ? 0 : 1;
    const Found found = look(site, {site.fabric.view, site.fabric.routing.tables, *plan}, *plan, ledger);
    EXPECT_EQ(found.leaks, 0U) << found.first;
    EXPECT_EQ(found.lost, 0U);
    EXPECT_EQ(found.off_lane, 0U);
    probes += found.probes;
    flows += found.flows;
  }
  EXPECT_GT(probes, 50'000U);
  EXPECT_GT(shared, 30U) << "jobs with a lane of the same number";
  EXPECT_GT(flows, 500U);
}

// A link fails: switches get other routes, then ports other tables. With the passages of both, no packet of a job that the routes
// carry is discarded; a host gets onto another's lane only where these passages meet, which is said. Then there are none.
TEST(LaneLeaks, RoutesThatChangeDropNoPacketsOfJobs) {
  std::size_t failures = 0, opened = 0, needed = 0, meeting = 0, after = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    LaneSite site(seed);
    if (site.fabric.ends.size() > 30) continue;
    add_jobs(site, false);
    const Ledger ledger = site.reserve(site.fabric.view, site.fabric.routing);
    if (!site.plan(ledger, {})) continue;
    const auto running = site.running;
    std::mt19937_64 random(seed);
    for (const LinkId link : site.fabric.view.topology().links()) {
      if (!site.fabric.view.topology().joins_switches(link) || !site.fabric.view.alive(link) || random() % 8 != 0)
        continue;
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + site.fabric.view.topology().link_text(link) + " fails");
      const auto now = testing::fail_one(site.fabric, link);
      ++failures;
      // 1. The routes after the failure, on the tables of before.
      site.running = running;
      const auto closed = site.plan(ledger, {});
      needed += look(site, {now.view, now.routing.tables, *closed}, *closed, ledger).lost > 0 ? 1 : 0;
      // 2. On tables that are open for both, before and after switches have the routes.
      const LanePassages passages = join(lane_passages(ledger, now.view, now.routing.tables),
                                         lane_passages(ledger, now.view, site.fabric.routing.tables));
      const auto open = site.plan(ledger, passages);
      const auto met = jobs_met(ledger, passages);
      opened += passages.empty() ? 0 : 1;
      meeting += met.empty() ? 0 : 1;
      for (const ForwardingTables* tables :
           std::initializer_list<const ForwardingTables*>{&site.fabric.routing.tables, &now.routing.tables}) {
        const Found found = look(site, {now.view, *tables, *open}, *open, ledger);
        EXPECT_EQ(found.lost, 0U);
        for (const auto& pair : found.met) EXPECT_TRUE(std::ranges::find(met, pair) != met.end()) << found.first;
        if (met.empty()) {
          EXPECT_EQ(found.leaks, 0U) << found.first;
        }
      }
      // 3. The reservations follow.
      const Ledger later = site.reserve(now.view, now.routing);
      const LanePassages left = lane_passages(later, now.view, now.routing.tables);
      const auto plan = site.plan(later, left);
      const Found found = look(site, {now.view, now.routing.tables, *plan}, *plan, later);
      EXPECT_TRUE(left.empty());
      EXPECT_EQ(found.leaks, 0U) << found.first;
      EXPECT_EQ(found.lost, 0U);
      EXPECT_EQ(found.off_lane, 0U);
      after += found.probes;
    }
  }
  EXPECT_GT(failures, 40U);
  EXPECT_GT(opened, 10U);
  EXPECT_GT(needed, 10U) << "failures after which packets would have been discarded";
  EXPECT_GT(after, 100'000U);
  std::printf("%zu failures, %zu opened ports, %zu would have dropped packets, in %zu jobs met\n", failures, opened,
              needed, meeting);
}

// The flows of a pattern have replies, which come back over links where nothing is reserved for them: none is discarded, and
// where they cross the lane of another job, that is said of both.
TEST(LaneLeaks, RepliesOfPatternsArrive) {
  std::size_t passing = 0, meeting = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LaneSite site(seed);
    if (site.fabric.ends.size() > 40) continue;
    add_jobs(site, true);
    const Ledger ledger = site.reserve(site.fabric.view, site.fabric.routing);
    const LanePassages passages = lane_passages(ledger, site.fabric.view, site.fabric.routing.tables);
    const auto plan = site.plan(ledger, passages);
    if (!plan) continue;
    const auto met = jobs_met(ledger, passages);
    const Found found = look(site, {site.fabric.view, site.fabric.routing.tables, *plan}, *plan, ledger);
    EXPECT_EQ(found.lost, 0U);
    for (const auto& pair : found.met) EXPECT_TRUE(std::ranges::find(met, pair) != met.end()) << found.first;
    passing += passages.empty() ? 0 : 1;
    meeting += met.empty() ? 0 : 1;
  }
  EXPECT_GT(passing, 10U);
  std::printf("%zu fabrics with passages, %zu where jobs meet\n", passing, meeting);
}

// Where ports are written after routes, a job that survives no failure takes what comes from links that no job has the lane on.
TEST(LaneLeaks, WithoutPortsFirstLanesStayOpenToUnusedLinks) {
  std::size_t leaks = 0, of_survivors = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    LaneSite site(seed);
    if (site.fabric.ends.size() > 40) continue;
    add_jobs(site, false);
    const Ledger ledger = site.reserve(site.fabric.view, site.fabric.routing);
    std::vector<IngressUser> users;
    for (const Job& job : site.running) {
      for (const PortId port : job.ports) users.push_back({port, std::uint8_t{1}, job.lane, 0});
    }
    const auto plan = plan_infiniband({.classes = &site.classes,
                                       .view = site.fabric.view,
                                       .scope = site.fabric.scope,
                                       .lanes = &site.fabric.routing.lanes,
                                       .ledger = &ledger,
                                       .owned_lanes = true,
                                       .users = users,
                                       .ports_first = false,
                                       .data_lanes = 15,
                                       .arbitration = {.entries = kMaxArbitrationEntries}});
    if (!plan) continue;
    const Found found = look(site, {site.fabric.view, site.fabric.routing.tables, *plan}, *plan, ledger);
    EXPECT_EQ(found.lost, 0U);
    leaks += found.leaks;
    for (const auto& [job, whose] : found.met) {
      const auto at = std::ranges::find(site.running, whose, &Job::name);
      of_survivors += at->survives ? 1 : 0;
    }
  }
  EXPECT_GT(leaks, 0U) << "so it is said to be planned only";
  EXPECT_EQ(of_survivors, 0U);
}

}  // namespace
}  // namespace railweave::fabric
