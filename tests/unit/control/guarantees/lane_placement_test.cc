// Where jobs with lanes of their own are placed, on small fabrics by seed while they come and go. The cables of a job are found
// hop by hop from what switches hold (naive_walk.h), owners compared pair by pair, and all placements that there are
// enumerated; no code is shared with what places, admits and gives lanes.
#include <functional>
#include <random>
#include <set>

#include "services/control/guarantees/placement_tries.h"
#include "tests/support/seeds.h"
#include "tests/unit/capacity/naive_walk.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::lane_placement_test {
namespace {

using fabric::testing::LinkWay;
using testing::Cluster;
using testing::leaves_and_spines;
using Links = std::set<LinkWay>;
using Hosts = std::set<std::uint32_t>;

struct Owner {
  JobId id;
  std::optional<unsigned> lane;
  Links links;
};

// One rank on each of a few hosts. Hosts have one adapter and one GPU.
class Site {
 public:
  Site(std::uint64_t seed, unsigned leaves, unsigned lanes)
      : random(seed), cluster(leaves_and_spines(leaves, 2 + seed % 2, 1 + seed % 3, 1)), lanes_(lanes) {
    cluster.leave_lanes(lanes);
    auto contract = testing::terms(1);
    contract.isolation = scheduler::Isolation::lane;
    cluster.contract(contract);
    EXPECT_TRUE(book_.bring_to(cluster.state));
    for (const auto host : cluster.state.topology().hosts()) free.insert(host.value());
  }
  [[nodiscard]] Links links(const Hosts& hosts) const {
    Links links;
    const auto& t = cluster.state.topology();
    for (const auto a : hosts) {
      for (const auto b : hosts) {
        if (a == b) continue;
        const auto path =
            fabric::testing::walk(book_.routes()->input.view, book_.routes()->routing.tables,
                                  t.ports(t.hcas(fabric::HostId(a))[0])[0], t.ports(t.hcas(fabric::HostId(b))[0])[0]);
        EXPECT_TRUE(path);
        if (path) links.insert(path->begin(), path->end());
      }
    }
    return links;
  }
  // The lowest lane that no owner has on these links; none below the number there are.
  [[nodiscard]] std::optional<unsigned> lane_for(const Links& links) const {
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      if (std::ranges::none_of(owners, [&](const Owner& one) {
            return one.lane == lane &&
                   std::ranges::any_of(one.links, [&](const LinkWay& way) { return links.contains(way); });
          }))
        return lane;
    }
    return std::nullopt;
  }
  [[nodiscard]] unsigned in_use() const {
    unsigned most = 0;
    for (const Owner& one : owners) most = std::max(most, one.lane ? *one.lane + 1 : 0);
    return most;
  }
  // The fewest lanes in use with the job at any placement on free hosts; none: no placement has a lane.
  [[nodiscard]] std::optional<unsigned> fewest_anywhere(std::size_t size) const {
    std::optional<unsigned> fewest;
    Hosts chosen;
    const std::vector<std::uint32_t> hosts(free.begin(), free.end());
    const std::function<void(std::size_t)> choose = [&](std::size_t from) {
      if (chosen.size() == size) {
        if (const auto lane = lane_for(links(chosen))) {
          const unsigned lanes = std::max(in_use(), *lane + 1);
          fewest = fewest ? std::min(*fewest, lanes) : lanes;
        }
        return;
      }
      for (std::size_t i = from; i < hosts.size(); ++i) {
        chosen.insert(hosts[i]);
        choose(i + 1);
        chosen.erase(hosts[i]);
      }
    };
    choose(0);
    return fewest;
  }
  [[nodiscard]] Hosts hosts_of(const std::vector<fabric::GpuId>& gpus) const {
    Hosts hosts;
    for (const auto gpu : gpus) hosts.insert(cluster.state.topology().host(gpu).value());
    return hosts;
  }
  void end(std::size_t at) {
    for (const auto gpu : cluster.state.jobs.find(owners[at].id)->placement.gpu_of_rank)
      free.insert(cluster.state.topology().host(gpu).value());
    cluster.must(EndJob{owners[at].id, JobState::completed, {}, {}});
    owners.erase(owners.begin() + static_cast<std::ptrdiff_t>(at));
  }

  std::mt19937_64 random;
  Cluster cluster;
  std::vector<Owner> owners;
  Hosts free;

 private:
  const unsigned lanes_;
  GuaranteeBook book_;
};

struct Seen {
  std::size_t placed = 0, refused = 0, refused_though_possible = 0, spared = 0, more_than_fewest = 0, tries = 0;
};

// Of the placements tried: what each was admitted with, and that the chosen one needs the fewest lanes.
void expect_fewest_of_tried(const Site& site, const PlacementTries& tries, const Hosts& chosen, Seen& seen) {
  std::optional<unsigned> fewest, first;
  std::optional<double> first_us;
  for (const TriedPlacement& one : tries.tried()) {
    const auto lane = site.lane_for(site.links(site.hosts_of(one.gpu_of_rank)));
    ASSERT_EQ(one.is_admitted, lane.has_value());
    ++seen.tries;
    if (!lane) continue;
    ASSERT_EQ(one.lane, lane);
    if (!first_us) first_us = one.communication_us;
    if (one.communication_us > *first_us * PlacementTries::kMaxSlower) continue;
    const unsigned lanes = std::max(site.in_use(), *lane + 1);
    if (!first) first = lanes;
    fewest = fewest ? std::min(*fewest, lanes) : lanes;
  }
  ASSERT_TRUE(fewest);
  const unsigned lanes = std::max(site.in_use(), *site.lane_for(site.links(chosen)) + 1);
  EXPECT_EQ(lanes, *fewest);
  if (lanes < *first) ++seen.spared;
}

void submit(Site& site, unsigned size, Seen& seen) {
  auto job = Cluster::job("t", size);
  const auto terms = job_terms(site.cluster.state, job.spec);
  ASSERT_TRUE(terms);
  PlacementTries tries(site.cluster.state, site.cluster.placers, site.cluster.now_us, false);
  const auto planned = tries.place_anywhere(job.spec, *terms);
  const auto fewest = site.fewest_anywhere(size);
  const unsigned in_use = site.in_use();
  const auto done = site.cluster.ask(job);
  ASSERT_EQ(done.has_value(), planned.has_value());
  if (!done) {
    ++seen.refused;
    seen.refused_though_possible += fewest ? 1U : 0U;
    ASSERT_EQ(done.error().error.code, "admission.lanesTaken") << done.error().error.text();
    ASSERT_FALSE(done.error().links.empty());
    EXPECT_FALSE(done.error().links.front().holders.empty()) << "who has the lanes";
    return;
  }
  ASSERT_TRUE(fewest) << "placed where no lane is free";
  const auto& placed = *site.cluster.state.jobs.find(site.cluster.last_job);
  const Hosts hosts = site.hosts_of(placed.placement.gpu_of_rank);
  ASSERT_EQ(hosts, site.hosts_of(planned->result.placement.gpu_of_rank));
  expect_fewest_of_tried(site, tries, hosts, seen);
  const Links links = site.links(hosts);
  const auto lane = site.lane_for(links);
  ASSERT_EQ(placed.guarantee->lane, lane);
  seen.more_than_fewest += std::max(in_use, *lane + 1) > *fewest ? 1U : 0U;
  ++seen.placed;
  site.owners.push_back({placed.id, lane, links});
  for (const auto host : hosts) site.free.erase(host);
}

TEST(LanePlacement, NeedsTheFewestLanesOfThePlacementsTried) {
  Seen seen;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(3000); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Site site(seed, 3 + static_cast<unsigned>(seed % 3), 1 + static_cast<unsigned>(seed % 4));
    for (int step = 0; step < 40; ++step) {
      const auto size = static_cast<unsigned>(2 + site.random() % 3);
      if (site.free.size() < size || (!site.owners.empty() && site.random() % 3 == 0)) {
        if (!site.owners.empty()) site.end(site.random() % site.owners.size());
        continue;
      }
      submit(site, size, seen);
      if (::testing::Test::HasFailure()) return;
    }
  }
  std::printf(
      "%zu placed of %zu tries: %zu with fewer lanes than the first try, %zu with more than the fewest of all "
      "placements; %zu refused, %zu of them though some placement had a lane\n",
      seen.placed, seen.tries, seen.spared, seen.more_than_fewest, seen.refused, seen.refused_though_possible);
  EXPECT_GT(seen.placed, part_of_seeds(2'000));
  EXPECT_GE(seen.spared, part_of_seeds(10));
  EXPECT_GT(seen.refused, part_of_seeds(30));
  EXPECT_LT(seen.refused_though_possible * 10, seen.refused);
  EXPECT_LT(seen.more_than_fewest * 50, seen.placed);
}

// What does not own lanes is placed as before, and the first lane is not spared.
TEST(LanePlacement, IsByTimeAloneWithoutLanes) {
  Site site(1, 4, 2);
  PlacementTries tries(site.cluster.state, site.cluster.placers, site.cluster.now_us, false);
  const auto job = Cluster::job("t", 4);
  ASSERT_TRUE(tries.place_anywhere(job.spec, *job_terms(site.cluster.state, job.spec)));
  EXPECT_EQ(tries.tried().size(), 1U);
  auto contract = testing::terms(1);
  site.cluster.must(PutContract{contract, {}});
  site.cluster.must(job);
  ASSERT_TRUE(tries.place_anywhere(job.spec, *job_terms(site.cluster.state, job.spec)));
  EXPECT_EQ(tries.tried().size(), 1U);
}

}  // namespace
}  // namespace railweave::control::lane_placement_test
