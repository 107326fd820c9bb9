// What an Ethernet switch is told of classes and lanes, against a reading of the ledger port by port.
#include "fabric/qos/ethernet_plan.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"

namespace railweave::fabric {
namespace {

struct ReservedSite {
  std::shared_ptr<const Topology> topology;
  QosClasses classes = default_qos_classes();
  Ledger ledger;
  std::vector<Reservation> reserved;
};

// Jobs with and without a lane of their own on links in any order, none of them with another's lane.
ReservedSite random_site(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  ReservedSite site;
  auto made = random() % 2 == 0 ? generate("fat-tree", {{"speed", "400G"}})
                                : generate("rail-optimized", {{"speed", "400G"}, {"hosts", "8"}});
  EXPECT_TRUE(made) << made.error().text();
  site.topology = std::make_shared<const Topology>(std::move(*made));
  const std::size_t links = site.topology->links().size() * 2;
  site.ledger = Ledger(std::vector<std::int64_t>(links, 400'000), capacity_rules(site.classes));
  std::map<DirectedLink, std::set<std::uint8_t>> lanes;
  for (std::uint64_t job = 0; job < 12; ++job) {
    Reservation one{.job = "job-" + std::to_string(job), .tenant = "t"};
    one.qos_class = static_cast<std::uint8_t>(random() % site.classes.size());
    std::set<DirectedLink> on;
    for (std::uint64_t n = random() % 20; n > 0; --n) on.insert(static_cast<DirectedLink>(random() % links));
    const auto lane = static_cast<std::uint8_t>(random() % ethernet_lanes(site.classes));
    const bool free = std::ranges::none_of(on, [&](DirectedLink link) { return lanes[link].contains(lane); });
    if (free && random() % 3 != 0) {
      one.lane = lane;
      for (const DirectedLink link : on) lanes[link].insert(lane);
    }
    for (const DirectedLink link : on) one.loads.push_back({link, 1 + static_cast<std::int64_t>(random() % 5'000)});
    for (const PortId port : site.topology->hca_ports()) {
      if (random() % 4 == 0) one.ports.push_back({.port = port});
    }
    site.ledger.reserve(std::make_shared<Reservation>(one));
    site.reserved.push_back(std::move(one));
  }
  return site;
}

std::int64_t load_on(const Reservation& one, DirectedLink link) {
  for (const auto& load : one.loads) {
    if (load.link == link) return load.mbps;
  }
  return 0;
}

TEST(EthernetPlan, TellsEveryPortWhatItsJobsHaveReserved) {
  std::size_t lanes_seen = 0, marks_seen = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const ReservedSite site = random_site(seed);
    const Topology& t = *site.topology;
    const FabricView view(site.topology);
    for (const SwitchId sw : t.switches()) {
      const EthernetPlan plan = plan_ethernet(site.classes, site.ledger, view, sw);
      std::size_t at = 0;
      for (const PortId port : t.ports(sw)) {
        if (!t.peer(port)) continue;
        ASSERT_LT(at, plan.ports.size());
        const EthernetPort& told = plan.ports[at++];
        EXPECT_EQ(told.port, port);
        const DirectedLink out = directed_link(t, port), in = directed_link(t, t.peer(port));
        std::map<std::uint8_t, std::pair<std::string, bool>> lanes_out, lanes_in;  // owner, lossless
        std::map<std::uint8_t, std::int64_t> rate_out;
        for (const Reservation& one : site.reserved) {
          if (!one.lane) continue;
          const bool lossless = site.classes[one.qos_class].lossless;
          if (load_on(one, out) > 0) {
            lanes_out[*one.lane] = {one.job, lossless};
            rate_out[*one.lane] = (load_on(one, out) * 1000 + 949) / 950;
          }
          if (load_on(one, in) > 0) lanes_in[*one.lane] = {one.job, lossless};
        }
        std::int64_t sum = 0;
        std::map<std::uint8_t, std::pair<std::string, bool>> queues;
        for (const EthernetQueue& queue : told.queues) {
          sum += queue.rate.value();
          EXPECT_GE(queue.rate.value(), 1);
          if (!queue.lane) continue;
          queues[*queue.lane] = {queue.job, queue.lossless};
          EXPECT_EQ(queue.rate.value(), rate_out[*queue.lane]) << "seed " << seed;
        }
        EXPECT_EQ(queues, lanes_out) << "seed " << seed;
        EXPECT_LE(sum, told.link.value());
        std::map<std::uint8_t, bool> arriving, arrive;
        for (const ArrivingLane& lane : told.arriving) arriving[lane.lane] = lane.lossless;
        for (const auto& [lane, owner] : lanes_in) arrive[lane] = owner.second;
        EXPECT_EQ(arriving, arrive) << "seed " << seed;
        EXPECT_EQ(told.faces_host, !t.is_switch_port(t.peer(port)));
        EXPECT_EQ(told.admitted.size(), told.faces_host ? lanes_in.size() : 0) << "seed " << seed;
        for (const AdmittedMark& mark : told.admitted) {
          const auto owner = std::ranges::find(site.reserved, mark.job, &Reservation::job);
          ASSERT_NE(owner, site.reserved.end());
          EXPECT_EQ(mark.dscp, lane_dscp(site.classes, *owner->lane));
          std::set<PortId> to;
          for (const auto& one : owner->ports) to.insert(one.port);
          to.erase(t.peer(port));
          EXPECT_EQ(mark.destinations, std::vector<PortId>(to.begin(), to.end()));
          ++marks_seen;
        }
        lanes_seen += lanes_out.size();
      }
      EXPECT_EQ(at, plan.ports.size());
    }
  }
  EXPECT_GT(lanes_seen, 500U);
  EXPECT_GT(marks_seen, 100U);
}

}  // namespace
}  // namespace railweave::fabric
