// Lanes of jobs' own on irregular fabrics, while jobs come and go: no two jobs with the same lane meet on a directed link,
// nor after any single failure that they survive, and none is refused while a lane is free. The links of a job are found
// by tracing every pair hop by hop, jobs are compared pair by pair, and no code is shared with what gives lanes.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "fabric/capacity/lane_owners.h"
#include "fabric/qos/infiniband_plan.h"
#include "scheduler/admission/bandwidth_admission.h"
#include "tests/unit/capacity/naive_hose.h"
#include "tests/unit/capacity/routed_fabrics.h"

namespace railweave::scheduler {
namespace {

using namespace fabric;  // NOLINT: this file is about its types
using fabric::testing::Health;
using fabric::testing::LinkWay;
using fabric::testing::Routed;

struct Holder {
  std::string job;
  std::uint8_t lane = 0;
  std::vector<PortId> ports;
  std::set<LinkWay> links;
};

std::set<LinkWay> traced(const FabricView& view, const ForwardingTables& tables, const std::vector<PortId>& ports) {
  std::vector<fabric::testing::NaivePort> naive;
  for (const PortId port : ports) naive.push_back({port, 1, 1});
  std::set<LinkWay> links;
  for (const auto& [link, pairs] : fabric::testing::crossing_pairs(view, tables, naive)) links.insert(link);
  return links;
}

bool meet(const std::set<LinkWay>& a, const std::set<LinkWay>& b) {
  return std::ranges::any_of(a, [&](const LinkWay& link) { return b.contains(link); });
}

struct Arrivals {
  Routed fabric;
  QosClasses classes = default_qos_classes();
  Ledger ledger;
  HoseLoads loads;
  unsigned lanes;
  std::vector<Holder> holders;
  std::size_t refused = 0, given = 0;
  std::uint8_t most = 0;

  Arrivals(std::uint64_t seed, unsigned number)
      : fabric(fabric::testing::random_fabric(seed, seed % 3 == 0   ? Health::even
                                                    : seed % 3 == 1 ? Health::uneven
                                                                    : Health::failures)),
        ledger(whole_capacities_mbps(fabric.view), capacity_rules(classes)),
        loads(fabric.view, fabric.routing.tables),
        lanes(number) {}

  void arrive(std::mt19937_64& random, int number, bool survives) {
    const SurvivingLoadOf surviving = [&](const Reservation& wanted) {
      return load_surviving_failures(wanted, loads, fabric::testing::failure_routes(fabric));
    };
    BandwidthAdmission admission(classes, ledger, loads, surviving, {.entries = kMaxArbitrationEntries}, 1, lanes);
    std::vector<PortId> ends = fabric.ends;
    std::ranges::shuffle(ends, random);
    ends.resize(std::min<std::size_t>(ends.size(), 2 + random() % 4));
    Contract contract{.tenant = "t", .guaranteed = RateMbps(100)};
    contract.isolation = Isolation::lane;
    contract.survives_link_failure = survives;
    BandwidthRequest request{.job = "job-" + std::to_string(number), .ports = ends};
    const char* names[] = {"all-reduce", "latency", "storage"};
    request.qos_class = names[random() % 3];
    const AdmissionResult result = admission.admit(contract, request);
    const std::set<LinkWay> links = traced(fabric.view, fabric.routing.tables, ends);
    if (const auto* admitted = std::get_if<Admitted>(&result)) {
      // Ports of different planes exchange nothing.
      ASSERT_EQ(admitted->reservation->lane.has_value(), !links.empty());
      if (links.empty()) return;
      ASSERT_LT(*admitted->reservation->lane, lanes);
      const auto lane = *admitted->reservation->lane;
      if (!survives) {
        for (std::uint8_t lower = 0; lower < lane; ++lower) EXPECT_FALSE(is_free(lower, links)) << "the lowest";
      }
      ledger.reserve(admitted->reservation);
      holders.push_back({request.job, lane, ends, links});
      most = std::max(most, lane);
      ++given;
      return;
    }
    const auto& rejected = std::get<Rejected>(result);
    if (rejected.reason.code == "admission.notConnected") return;
    ASSERT_EQ(rejected.reason.code, "admission.lanesTaken") << rejected.reason.text();
    ++refused;
    ASSERT_FALSE(rejected.links.empty());
    for (const auto& where : rejected.links) EXPECT_FALSE(where.full.holders.empty()) << where.link;
    for (std::uint8_t lane = 0; lane < lanes && !survives; ++lane) {
      EXPECT_FALSE(is_free(lane, links)) << "refused, though lane " << int{lane} << " is free";
    }
  }
  void leave(std::size_t which) {
    for (const auto& held : ledger.reservations_of(holders[which].job))
      (void)ledger.release(held->job, held->qos_class);
    holders.erase(holders.begin() + static_cast<std::ptrdiff_t>(which));
  }
  [[nodiscard]] bool is_free(std::uint8_t lane, const std::set<LinkWay>& links) const {
    return std::ranges::none_of(holders, [&](const Holder& one) { return one.lane == lane && meet(one.links, links); });
  }
  static void expect_apart(const std::vector<Holder>& holders, const std::string& when) {
    for (std::size_t a = 0; a < holders.size(); ++a) {
      for (std::size_t b = a + 1; b < holders.size(); ++b) {
        if (holders[a].lane != holders[b].lane) continue;
        EXPECT_FALSE(meet(holders[a].links, holders[b].links)) << holders[a].job << ", " << holders[b].job << when;
      }
    }
  }
};

TEST(Lanes, NoTwoJobsWithOneLaneMeetWhileJobsComeAndGo) {
  std::size_t given = 0, refused = 0;
  std::uint8_t most = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Arrivals site(seed, 1 + seed % 5);
    if (site.fabric.ends.size() < 2) continue;
    std::mt19937_64 random(seed);
    for (int step = 0; step < 60; ++step) {
      if (!site.holders.empty() && random() % 5 < 2) {
        site.leave(random() % site.holders.size());
      } else {
        site.arrive(random, step, false);
      }
      Arrivals::expect_apart(site.holders, "");
      if (::testing::Test::HasFailure()) return;
    }
    while (!site.holders.empty()) site.leave(0);
    for (DirectedLink link = 0; link < site.ledger.links(); ++link) ASSERT_EQ(site.ledger.lanes_on(link), 0);
    given += site.given;
    refused += site.refused;
    most = std::max(most, site.most);
  }
  EXPECT_GT(given, 800U);
  EXPECT_GT(refused, 100U);
  EXPECT_EQ(most, 4);
}

// What survives a failure is apart on the routes after it as well.
TEST(Lanes, NoTwoJobsWithOneLaneMeetAfterAFailureThatTheySurvive) {
  std::size_t failures = 0, pairs = 0;
  for (std::uint64_t seed = 2; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Arrivals site(seed, 4);
    if (site.fabric.ends.size() < 4) continue;
    std::mt19937_64 random(seed);
    for (int step = 0; step < 8; ++step) {
      if (!site.holders.empty() && random() % 4 == 0) {
        site.leave(random() % site.holders.size());
      } else {
        site.arrive(random, step, true);
      }
    }
    const Topology& t = site.fabric.view.topology();
    for (const LinkId link : t.links()) {
      if (!t.joins_switches(link) || !site.fabric.view.alive(link) || failures > 150) continue;
      const auto failed = fabric::testing::fail_one(site.fabric, link);
      std::vector<Holder> after = site.holders;
      for (Holder& one : after) one.links = traced(failed.view, failed.routing.tables, one.ports);
      Arrivals::expect_apart(after, " after " + t.link_text(link));
      ++failures;
      pairs += after.size() * (after.size() - 1) / 2;
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(failures, 20U);
  EXPECT_GT(pairs, 100U);
}

// Of a full link, by the rules of arbitration: a turn of others may be a packet longer.
std::int64_t promised_mbps(const VlArbitration& table, std::uint8_t vl, std::int64_t capacity, unsigned mtu_bytes) {
  std::int64_t own = 0, all = 0;
  for (const VlWeight entry : table.low) {
    if (entry.weight == 0) continue;
    all += entry.weight + (entry.vl == vl ? 0 : (mtu_bytes + 128 + 63) / 64);
    own += entry.vl == vl ? entry.weight : 0;
  }
  return all == 0 ? 0 : own * capacity / all;
}

// A plan for a random fabric on which jobs were admitted, and what its tables should be.
struct Programmed {
  Routed fabric;
  QosClasses classes = default_qos_classes();
  ArbitrationLimits limits;
  unsigned data_lanes, lanes = 0;
  Ledger ledger;
  std::size_t owners = 0, shared = 0;

  explicit Programmed(std::uint64_t seed)
      : fabric(fabric::testing::random_fabric(seed, seed % 2 == 0 ? Health::uneven : Health::failures)),
        limits{.entries = seed % 3 == 0 ? std::size_t{8} : std::size_t{16}},
        data_lanes(seed % 4 == 0 ? 8 : 15) {
    classes.resize(3);
    classes[2].dscp = 0;  // of the lowest
    ledger = Ledger(whole_capacities_mbps(fabric.view), capacity_rules(classes));
  }
  Result<InfinibandPlan> admit_and_plan(std::mt19937_64& random) {
    const RoutingLanes routing = routing_lanes(fabric.view, *fabric.scope, fabric.routing.lanes, SubnetId());
    lanes = owned_lanes(classes.size(), routing, data_lanes);
    HoseLoads loads(fabric.view, fabric.routing.tables);
    BandwidthAdmission admission(classes, ledger, loads, {}, limits, routing.lanes, lanes);
    for (int job = 0; job < 30; ++job) {
      std::vector<PortId> ends = fabric.ends;
      std::ranges::shuffle(ends, random);
      ends.resize(std::min<std::size_t>(ends.size(), 2 + random() % 6));
      Contract contract{.tenant = "t", .guaranteed = RateMbps(static_cast<std::int64_t>(1'000 + random() % 40'000))};
      contract.isolation = random() % 3 == 0 ? Isolation::planned : Isolation::lane;
      contract.classes = {classes[random() % 3].name};
      const auto result = admission.admit(contract, {.job = "job-" + std::to_string(job), .ports = ends});
      if (const auto* admitted = std::get_if<Admitted>(&result)) ledger.reserve(admitted->reservation);
    }
    return plan_infiniband({.classes = &classes,
                            .view = fabric.view,
                            .scope = fabric.scope,
                            .lanes = &fabric.routing.lanes,
                            .ledger = &ledger,
                            .owned_lanes = true,
                            .data_lanes = data_lanes,
                            .arbitration = limits});
  }
  void expect_port(const InfinibandPlan& plan, const PortTables& port) {
    const Topology& t = fabric.view.topology();
    const SwitchId sw = t.find_switch(port.port.device);
    const auto number = port.port.port - 1U;
    const DirectedLink link =
        directed_link(t, sw ? t.ports(sw)[number] : t.ports(t.find_hca(port.port.device))[number]);
    const std::int64_t capacity = ledger.capacity_mbps(link);
    std::map<std::uint8_t, std::int64_t> of_lane;
    std::map<std::uint8_t, std::int64_t> of_class;
    for (const ReservationPtr& one : ledger.reservations()) {
      const std::int64_t mbps = load_on(one->loads, link);
      if (mbps == 0) continue;
      EXPECT_TRUE(!one->lane || !of_lane.contains(*one->lane)) << "two owners of one lane";
      (one->lane ? of_lane[*one->lane] : of_class[one->qos_class]) += mbps;
    }
    owners += of_lane.size();
    shared += of_lane.size() > 1 ? 1U : 0U;
    for (unsigned l = 0; l < plan.routing_lanes; ++l) {
      for (const auto& [lane, mbps] : of_lane) {
        EXPECT_GE(promised_mbps(*port.arbitration, plan.owned_lane(lane, l), capacity, limits.mtu_bytes), mbps);
      }
      for (const auto& [of, mbps] : of_class) {
        EXPECT_GE(promised_mbps(*port.arbitration, plan.lane(of, l), capacity, limits.mtu_bytes), mbps);
      }
    }
    // A level never leaves its routing lane, whoever owns what: credits wait for each other as on those lanes alone.
    for (unsigned level = 0; level < plan.routing_levels; ++level) {
      const unsigned routing_lane = (*port.sl_to_vl)[plan.service_level(0, level)] % plan.routing_lanes;
      for (unsigned lane = 0; lane < lanes; ++lane) {
        const unsigned vl = (*port.sl_to_vl)[plan.owned_level(lane, level)];
        ASSERT_LT(vl, data_lanes) << "no packet of a job with a lane is dropped";
        EXPECT_EQ(vl % plan.routing_lanes, routing_lane);
        const bool owned = of_lane.contains(static_cast<std::uint8_t>(lane));
        EXPECT_EQ(vl / plan.routing_lanes, owned ? classes.size() + lane : 0);
      }
    }
  }
};

// What is admitted is in the tables of ports: every owner of a lane has what is reserved for it on each of its links, and
// every class what is reserved in it beside. A plan is never refused for what was admitted.
TEST(Lanes, TablesOfPortsPromiseOwnersAndClassesWhatIsReserved) {
  std::size_t owners = 0, ports = 0, shared = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Programmed site(seed);
    std::mt19937_64 random(seed);
    const auto plan = site.admit_and_plan(random);
    const std::string code = plan ? "" : plan.error().code;
    if (code == "qos.lanesDoNotSuffice" || code == "qos.levelsDoNotSuffice" || code == "qos.lanesDependOnInput")
      continue;
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_EQ(plan->owned_lanes, site.lanes);
    ASSERT_FALSE(plan->ports.empty());
    for (const PortTables& port : plan->ports) site.expect_port(*plan, port);
    ports += plan->ports.size();
    owners += site.owners;
    shared += site.shared;
  }
  EXPECT_GT(ports, 200U);
  EXPECT_GT(owners, 300U);
  EXPECT_GT(shared, 20U) << "ports that several owners share";
}

TEST(Lanes, AJobKeepsTheLaneThatItHas) {
  Arrivals site(3, 4);
  BandwidthAdmission admission(site.classes, site.ledger, site.loads, {}, {.entries = kMaxArbitrationEntries}, 1, 4);
  Contract contract{.tenant = "t", .guaranteed = RateMbps(100)};
  contract.isolation = Isolation::lane;
  BandwidthRequest request{.job = "a", .ports = {site.fabric.ends[0], site.fabric.ends[1]}, .lane = 2};
  const auto kept = admission.admit(contract, request);
  EXPECT_EQ(std::get<Admitted>(kept).reservation->lane, 2);
  request.lane = 7;  // ports have fewer now
  EXPECT_EQ(std::get<Admitted>(admission.admit(contract, request)).reservation->lane, 0);
  site.ledger.reserve(std::get<Admitted>(kept).reservation);
  request.job = "b";
  request.lane = 2;
  const auto other = admission.admit(contract, request);
  EXPECT_EQ(std::get<Admitted>(other).reservation->lane, 0) << "another job has it";
  BandwidthAdmission none(site.classes, site.ledger, site.loads);
  const auto refused = none.admit(contract, request);
  EXPECT_EQ(std::get<Rejected>(refused).reason.code, "admission.noLanes");
  EXPECT_EQ(std::get<Rejected>(refused).reason.kind, ErrorKind::impossible);
}

}  // namespace
}  // namespace railweave::scheduler
