// Certificates as written, checked by railweave-verify; spoiled in one place each, and refused.
#include "services/rest/json/guarantees/certificate.h"

#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "fabric/formats/native/native_json.h"
#include "fabric/routing/opensm/fdbs_text.h"
#include "fabric/routing/opensm/opensm_dumps.h"
#include "scheduler/admission/bandwidth_admission.h"
#include "tests/support/seeds.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/capacity/routed_fabrics.h"

namespace railweave::scheduler {
namespace {

using namespace fabric;  // NOLINT
using fabric::testing::Health;

// No faults, but contracts and jobs are not given: guarantees_test.py compares with those of a service.
constexpr int kUncompared = 3;

struct Site {
  fabric::testing::Routed fabric;
  QosClasses classes = default_qos_classes();
  Ledger ledger;
  TemporaryFolder folder;
  std::string fdbs, certificate;
  bool planned = false;

  Site(std::uint64_t seed, Health health, bool surviving, unsigned data_lanes = 15, bool with_lanes = false,
       PathSpread spread = PathSpread::single)
      : fabric(spread == PathSpread::single ? fabric::testing::random_fabric(seed, health)
                                            : fabric::testing::spread_fabric(seed, health, spread)) {
    ledger = Ledger(whole_capacities_mbps(fabric.view), capacity_rules(classes));
    HoseLoads loads(fabric.view, fabric.routing.tables);
    const ArbitrationLimits limits{.entries = kMaxArbitrationEntries};
    const RoutingLanes lanes = routing_lanes(fabric.view, *fabric.scope, fabric.routing.lanes, SubnetId());
    const auto surviving_load = [&](const Reservation& wanted) {
      return load_surviving_failures(wanted, loads, fabric::testing::failure_routes(fabric));
    };
    BandwidthAdmission admission(classes, ledger, loads, surviving_load, limits, lanes.lanes,
                                 owned_lanes(classes.size(), lanes, data_lanes));
    std::mt19937_64 random(seed);
    for (int job = 0; job < 10; ++job) {
      std::vector<PortId> ends = fabric.ends;
      std::ranges::shuffle(ends, random);
      ends.resize(std::min<std::size_t>(ends.size(), 2 + random() % 6));
      Contract contract{.tenant = "t", .guaranteed = RateMbps(static_cast<std::int64_t>(1000 + random() % 20'000))};
      BandwidthRequest request{.job = "job-" + std::to_string(job), .ports = ends};
      request.qos_class = job % 2 == 0 ? "all-reduce" : "latency";
      contract.survives_link_failure = surviving;
      if (with_lanes && job % 4 != 0) contract.isolation = Isolation::lane;
      if (job % 3 == 2 && !surviving) {
        contract.promise = TrafficPromise::pattern;
        for (std::size_t i = 0; i + 1 < ends.size(); ++i) request.flows.push_back({{ends[i], ends[i + 1]}, 500});
      }
      const auto result = admission.admit(contract, request);
      if (const auto* admitted = std::get_if<Admitted>(&result)) ledger.reserve(admitted->reservation);
    }
    const auto plan = plan_infiniband({.classes = &classes,
                                       .view = fabric.view,
                                       .scope = fabric.scope,
                                       .lanes = &fabric.routing.lanes,
                                       .ledger = &ledger,
                                       .owned_lanes = with_lanes,
                                       .data_lanes = data_lanes,
                                       .arbitration = limits});
    planned = plan.has_value();
    fdbs = write_fdbs(fabric.routing.tables);
    certificate = api::write_certificate({.view = &fabric.view,
                                          .tables = &fabric.routing.tables,
                                          .ledger = &ledger,
                                          .classes = &classes,
                                          .plan = planned ? &*plan : nullptr,
                                          .refused = planned ? std::string_view() : plan.error().message,
                                          .arbitration = limits,
                                          .entries_digest = entries_digest(fabric.routing.tables)});
    write("fabric.json", fabric_text());
  }

  // With the LMC that the ports' LIDs were given by.
  std::string fabric_text() const {
    nlohmann::json file = nlohmann::json::parse(write_native_json(fabric.view.topology()));
    unsigned lmc = 0;
    while (1U << lmc < fabric.scope->lid_count(fabric.ends.front())) ++lmc;
    for (auto& host : file["hosts"]) {
      for (auto& adapter : host["adapters"]) {
        for (auto& port : adapter["ports"]) port["lmc"] = lmc;
      }
    }
    return file.dump();
  }
  Routing without(LinkId link) const {
    FabricView failed = fabric.view;
    failed.set_state(link, LinkState::down);
    return choose_engine(*fabric.scope)
        .engine->reroute(fabric.routing, {.view = failed, .scope = fabric.scope})
        .value();
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder.path() / name, std::ios::binary) << text;
  }
  int verify(const std::string& more = {}) const {
    write("fdbs", fdbs);
    write("certificate.json", certificate);
    const std::string at = folder.path().string() + "/";
    const int status = std::system((std::string(RAILWEAVE_BINARY_DIR) + "/bin/railweave-verify " + at + "fabric.json " +
                                    at + "fdbs " + at + "certificate.json" + more + " > " + at + "out 2>&1")
                                       .c_str());
    return WEXITSTATUS(status);
  }
  std::string said() const {
    std::ifstream in(folder.path() / "out");
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST(Certificate, HoldsOnHealthyAndDegradedFabrics) {
  std::size_t jobs = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(24, 2); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Site site(seed, seed % 2 == 0 ? Health::uneven : Health::failures, false);
    if (!site.planned) continue;  // ARefusedPlanHoldsNothing
    EXPECT_EQ(site.verify(), kUncompared) << site.said();
    jobs += site.ledger.reservations().size();
  }
  EXPECT_GT(jobs, part_of_seeds(60, 2));
}

// Ports that cannot have the classes keep the tables that they have: whatever is reserved, nothing is promised.
TEST(Certificate, ARefusedPlanHoldsNothing) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Site site(seed, Health::even, false, 4);
    ASSERT_FALSE(site.planned) << "six classes on four lanes";
    if (site.ledger.reservations().empty()) continue;
    ++refused;
    EXPECT_EQ(site.verify(), 1) << site.said();
    EXPECT_NE(site.said().find("is below what is reserved"), std::string::npos) << site.said();
  }
  EXPECT_GT(refused, 3U);
}

TEST(Certificate, HoldsAfterEachFailureItWasReservedFor) {
  std::size_t failures = 0;
  for (std::uint64_t seed = 2; seed <= 6; ++seed) {
    const Site site(seed, Health::even, true);
    std::string after;
    for (const LinkId link : site.fabric.view.topology().links()) {
      if (!site.fabric.view.topology().joins_switches(link) || failures > 40) continue;
      const Routing routing = site.without(link);
      bool whole = true;  // failures that cut off ports are covered for no job
      for (const PortId a : site.fabric.ends) {
        for (const PortId b : site.fabric.ends) {
          FabricView failed = site.fabric.view;
          failed.set_state(link, LinkState::down);
          std::vector<DirectedLink> path;
          const PathWalker now(failed, routing.tables), before(site.fabric.view, site.fabric.routing.tables);
          if (whole && before.append({a, b}, path)) whole = now.append({a, b}, path);
        }
      }
      if (!whole) continue;
      const std::string name = "after-" + std::to_string(link.index());
      site.write(name, write_fdbs(routing.tables));
      after += " --after '" + site.fabric.view.topology().link_text(link) + "=" + site.folder.path().string() + "/" +
               name + "'";
      ++failures;
    }
    EXPECT_EQ(site.verify(after), kUncompared) << site.said();
  }
  EXPECT_GT(failures, 5U);
}

TEST(Certificate, HoldsWhereSubnetsSpreadTheirPackets) {
  std::size_t jobs = 0, spoiled = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(16, 2); ++seed) {
    const PathSpread spread = seed % 2 == 0 ? PathSpread::lmc : PathSpread::adaptive;
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + std::string(to_text(spread)));
    Site site(seed, seed % 3 == 0 ? Health::failures : Health::even, false, 15, false, spread);
    if (!site.planned || site.ledger.reservations().empty()) continue;
    EXPECT_EQ(site.verify(), kUncompared) << site.said();
    jobs += site.ledger.reservations().size();
    const std::string good = site.certificate;
    // Without what it counts on.
    const auto at = good.find(",\n\"spread\":[");
    ASSERT_NE(at, std::string::npos);
    site.certificate = good.substr(0, at) + good.substr(good.find(']', at) + 1);
    spoiled += site.verify() == 1 ? 1 : 0;
  }
  EXPECT_GT(jobs, part_of_seeds(60, 2));
  EXPECT_GE(spoiled, part_of_seeds(6, 2)) << "what is reserved does not fit single paths";
}

TEST(Certificate, DoesNotHoldWhereAnythingIsSpoiled) {
  Site site(4, Health::even, false);
  ASSERT_EQ(site.verify(), kUncompared) << site.said();
  const std::string good = site.certificate, routes = site.fdbs;
  const auto spoil = [&](const std::string& what, const std::string& by) {
    site.certificate = good;
    const auto at = site.certificate.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    site.certificate.replace(at, what.size(), by);
    return site.verify();
  };
  EXPECT_EQ(spoil("\"sendMbps\":", "\"sendMbps\":9"), 1) << "a job sends more than was reserved";
  EXPECT_NE(site.said().find("are reserved"), std::string::npos) << site.said();
  EXPECT_EQ(spoil("\"capacityMbps\":400000", "\"capacityMbps\":800000"), 1);
  // A turn less for the class with the reservation; and weights that would do if packets could be cut.
  const auto turns = good.find("\"turns\":[[");
  ASSERT_NE(turns, std::string::npos);
  const std::string table = good.substr(turns, good.find("]]", turns) + 2 - turns);
  EXPECT_EQ(spoil(table, "\"turns\":[[5,0,255],[0,1,1],[2,3,1]]"), 1);
  EXPECT_NE(site.said().find("is below what is reserved"), std::string::npos) << site.said();
  EXPECT_EQ(spoil(table, "\"turns\":[]"), 1);
  // No packet may be cut by calling the link another kind, by a negative turn or by a lane that counts twice.
  EXPECT_EQ(spoil(table, R"("weights":[175,50,350,225,115,50])"), 1);
  EXPECT_NE(site.said().find("serve an arbitration table"), std::string::npos) << site.said();
  EXPECT_EQ(spoil("\"turns\":[[", "\"turns\":[[0,14,-1],["), 1);
  EXPECT_NE(site.said().find("0 to 255"), std::string::npos) << site.said();
  EXPECT_EQ(spoil("\"turns\":[[", "\"turns\":[[0,14,1],[1,14,1],["), 1);
  EXPECT_NE(site.said().find("a lane is of two classes"), std::string::npos) << site.said();
  EXPECT_EQ(spoil("\"largestPacketBytes\":4224", "\"largestPacketBytes\":4224000"), 1);
  EXPECT_EQ(spoil("\"fnv1a64\":\"", "\"fnv1a64\":\"0"), 1);
  EXPECT_EQ(spoil("\"reservedMbps\":[", "\"reservedMbps\":[400000"), 1);
  EXPECT_EQ(spoil("\"certificate\"", "\"letter\""), 2);
  EXPECT_EQ(spoil("\"jobs\"", "\"jods\""), 1) << "a member is missing, another is unknown";
  site.certificate = good;
  site.fdbs.replace(site.fdbs.find(": 00") + 2, 3, "250");  // a switch sends into nothing
  EXPECT_EQ(site.verify(), 1);
  site.fdbs = "nothing";
  EXPECT_EQ(site.verify(), 2);
}

// Jobs with lanes of their own: each has one owner on a link, and its port promises it what is reserved.
TEST(Certificate, LanesHaveOneOwnerOnALinkAndWhatIsReserved) {
  std::size_t lanes = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Site site(seed, seed % 2 == 0 ? Health::uneven : Health::even, false, 15, true);
    if (!site.planned) continue;
    EXPECT_EQ(site.verify(), kUncompared) << site.said();
    for (const auto& one : site.ledger.reservations()) lanes += one->lane ? 1U : 0U;
  }
  EXPECT_GT(lanes, 10U);

  Site site(4, Health::even, false, 15, true);
  ASSERT_EQ(site.verify(), kUncompared) << site.said();
  const std::string good = site.certificate;
  const auto refused = [&](const std::string& what, const std::string& by, const std::string& why) {
    site.certificate = good;
    std::size_t places = 0;
    for (auto at = site.certificate.find(what); at != std::string::npos;
         at = site.certificate.find(what, at + by.size())) {
      site.certificate.replace(at, what.size(), by);
      ++places;
    }
    EXPECT_GT(places, 0U) << what;
    EXPECT_EQ(site.verify(), 1) << what << " -> " << by;
    EXPECT_NE(site.said().find(why), std::string::npos) << why << " is not said:\n" << site.said();
  };
  // A link with two lanes: the owner of one of them is said to have the other's, in its job and on every link.
  const auto two = good.find("},{\"lane\":");
  ASSERT_NE(two, std::string::npos) << "no link has two owners";
  const auto first = good.rfind("\"lanes\":[{\"lane\":", two);
  const std::string lane_of_first = good.substr(first + 17, good.find(',', first) - first - 17);
  const std::string lane_of_second = good.substr(two + 10, good.find(',', two + 1) - two - 10);
  const auto named = good.find("\"job\":\"", two) + 7;
  const std::string second = good.substr(named, good.find('"', named) - named);
  ASSERT_NE(lane_of_first, lane_of_second);
  site.certificate = good;
  const auto replace_all = [&](const std::string& what, const std::string& by) {
    for (auto at = site.certificate.find(what); at != std::string::npos;
         at = site.certificate.find(what, at + by.size())) {
      site.certificate.replace(at, what.size(), by);
    }
  };
  replace_all("\"lane\":" + lane_of_second + ",\"job\":\"" + second + "\"",
              "\"lane\":" + lane_of_first + ",\"job\":\"" + second + "\"");
  const auto own = site.certificate.find("{\"job\":\"" + second + "\"");
  const auto own_lane = site.certificate.find("\"lane\":", own) + 7;
  site.certificate.replace(own_lane, site.certificate.find(',', own_lane) - own_lane, lane_of_first);
  EXPECT_EQ(site.verify(), 1);
  EXPECT_NE(site.said().find(" and of " + second), std::string::npos) << site.said();

  // A table that promises the owner less than is reserved: its turns are of weight 1.
  const auto slot = "[" + std::to_string(site.classes.size() + std::stoul(lane_of_second)) + ",";
  const auto turn = good.find(slot, two);
  ASSERT_NE(turn, std::string::npos);
  const std::string entry = good.substr(turn, good.find(']', turn) + 1 - turn);
  refused(entry, entry.substr(0, entry.rfind(',')) + ",1]", "is below what is reserved for " + second);
  refused(entry, entry.substr(0, entry.rfind(',')) + ",0]", "is below what is reserved for " + second);
  // Less is said to be reserved for the owner than it can send; a lane that no job has; a job that is not on the link.
  const auto mbps = good.find("\"reservedMbps\":", two);
  refused(good.substr(two + 2, good.find('}', two + 2) - two - 2), good.substr(two + 2, mbps + 15 - two - 2) + "1",
          "are reserved for it");
  refused("\"lanes\":[", "\"lanes\":[{\"lane\":14,\"job\":\"" + second + "\",\"reservedMbps\":1},", "is not that of");
  const auto entry_of = good.find("{\"job\":\"" + second + "\"");
  const auto lane_at = good.find("\"lane\":", entry_of);
  refused(good.substr(entry_of, good.find(',', lane_at) + 1 - entry_of), good.substr(entry_of, lane_at - entry_of),
          "is not that of " + second);
}

// The verifier reads the rates of speeds by itself: data rates, as the model has them.
TEST(Certificate, CapacitiesAreDataRatesOfEverySpeed) {
  const std::vector<std::pair<LinkSpeed, std::int64_t>> rates{
      {LinkSpeed::sdr, 8'000},    {LinkSpeed::ddr, 16'000},  {LinkSpeed::qdr, 32'000},
      {LinkSpeed::fdr10, 40'000}, {LinkSpeed::fdr, 54'544},  {LinkSpeed::edr, 100'000},
      {LinkSpeed::hdr, 200'000},  {LinkSpeed::ndr, 400'000}, {LinkSpeed::xdr, 800'000}};
  for (const auto& [speed, mbps] : rates) {
    SCOPED_TRACE(std::string(fabric::to_string(speed)));
    const LinkSpec spec = infiniband_link(4, speed);
    EXPECT_EQ(spec.rate.value(), mbps);
    TopologyBuilder builder;
    const auto sw = builder.add_switch({.guid = Guid(0x100), .name = "leaf", .ports = 2});
    std::vector<PortId> ends;
    for (unsigned h = 0; h < 2; ++h) {
      const auto hca = builder.add_hca({.guid = Guid(0x1000 + h), .host = builder.host("node-" + std::to_string(h))});
      builder.connect({sw, h + 1}, {hca, 1}, spec);
    }
    Site site(1, Health::even, false);
    site.fabric =
        fabric::testing::route_view(FabricView(std::make_shared<const Topology>(std::move(builder).build().value())));
    site.ledger = Ledger(whole_capacities_mbps(site.fabric.view), capacity_rules(site.classes));
    HoseLoads loads(site.fabric.view, site.fabric.routing.tables);
    BandwidthAdmission admission(site.classes, site.ledger, loads);
    const std::int64_t most = site.ledger.limit_mbps(0, 2);
    const Contract contract{.tenant = "t", .guaranteed = RateMbps(most / 2), .classes = {"all-reduce"}};
    const auto result = admission.admit(contract, {.job = "job-1", .ports = site.fabric.ends});
    ASSERT_TRUE(std::holds_alternative<Admitted>(result));
    site.ledger.reserve(std::get<Admitted>(result).reservation);
    site.fdbs = write_fdbs(site.fabric.routing.tables);
    const ArbitrationLimits limits{.entries = kMaxArbitrationEntries};
    const auto plan = plan_infiniband({.classes = &site.classes,
                                       .view = site.fabric.view,
                                       .scope = site.fabric.scope,
                                       .lanes = &site.fabric.routing.lanes,
                                       .ledger = &site.ledger,
                                       .data_lanes = 15,
                                       .arbitration = limits});
    ASSERT_TRUE(plan) << plan.error().text();
    site.certificate = api::write_certificate({.view = &site.fabric.view,
                                               .tables = &site.fabric.routing.tables,
                                               .ledger = &site.ledger,
                                               .classes = &site.classes,
                                               .plan = &*plan,
                                               .arbitration = limits,
                                               .entries_digest = entries_digest(site.fabric.routing.tables)});
    site.write("fabric.json", write_native_json(site.fabric.view.topology()));
    EXPECT_EQ(site.verify(), kUncompared) << site.said();
  }
}

}  // namespace
}  // namespace railweave::scheduler
