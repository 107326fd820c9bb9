// Nodes of CPU-only roles, against every way to seat their members on small fabrics, partly full, some nodes drained and
// some without GPUs.
#include "scheduler/placement/fit/cpu_seats.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "planned_fabric.h"
#include "scheduler/placement/placer.h"
#include "small_fabric.h"

namespace railweave::scheduler::cpu_seats_test {
namespace {

using fabric::HostId;
using fabric::LevelKind;
using testing_support::below;
using testing_support::CabledPlan;
using testing_support::Random;

// How bad it is to have a member there: groups that it breaks, then how far it is from the job's nodes.
using Badness = std::pair<std::size_t, std::size_t>;

struct Case {
  testing_support::SmallCase on;
  JobSpec spec;
};

Case random_case(Random& random) {
  CabledPlan plan = testing_support::random_cabled(random, 4 + below(random, 3), 2, below(random, 4));
  const CabledPlan::Host last = plan.hosts.back();
  for (std::size_t extra = below(random, 3); extra > 0; --extra) plan.hosts.push_back({{}, last.leaf_group, last.pod});
  Case made{testing_support::partly_full(random, plan.build(), below(random, 2) == 0 ? 0.2 : 0.5, 10), {}};
  const auto& t = made.on.fabric->topology();
  for (const HostId host : t.hosts()) {
    if (below(random, 8) == 0) made.on.allocations.write(host.index()).unavailable = true;
  }
  JobSpec& spec = made.spec;
  spec.parallelism.data = static_cast<std::uint32_t>(1 + below(random, 3));
  const auto roles = 1 + below(random, 2);
  for (std::size_t i = 0; i < roles; ++i) {
    spec.cpu_roles.push_back({"role-" + std::to_string(i), static_cast<std::uint32_t>(1 + below(random, 4)),
                              static_cast<std::uint32_t>(below(random, 3))});
  }
  if (below(random, 5) == 0) spec.exclude_nodes = {"node-" + std::to_string(below(random, 4))};
  return made;
}

class Oracle {
 public:
  Oracle(const Case& of, const Placement& placement) : case_(of), t_(of.on.fabric->topology()) {
    for (const auto gpu : placement.gpu_of_rank) own_.insert(t_.host(gpu));
  }

  [[nodiscard]] bool may(HostId host) const {
    const auto& allocation = case_.on.allocations[host.index()];
    const std::string name(t_.name(host));
    if (allocation.unavailable) return false;
    if (std::ranges::find(case_.spec.exclude_nodes, name) != case_.spec.exclude_nodes.end()) return false;
    return own_.contains(host) || t_.gpus(host).empty() || free_of(host) > 0;
  }
  [[nodiscard]] bool own(HostId host) const { return own_.contains(host); }
  [[nodiscard]] Badness badness(HostId host) const {
    Badness bad{0, 0};
    bool near = false;
    for (const auto& level : case_.on.fabric->locality().levels) {
      bool whole = !t_.gpus(host).empty(), all_in_it = true;
      for (const HostId other : t_.hosts()) {
        if (level.group_of_host[other.index()] != level.group_of_host[host.index()]) {
          all_in_it = false;
          continue;
        }
        if (own_.contains(other)) near = true;
        if (own_.contains(other) || case_.on.allocations[other.index()].used != 0) whole = false;
      }
      const auto is = [&](LevelKind kind) {
        return level.kind == kind || std::ranges::find(level.also, kind) != level.also.end();
      };
      const bool kept =
          is(LevelKind::node) || is(LevelKind::nvlink_domain) || is(LevelKind::rack) || is(LevelKind::leaf_group);
      if (whole && kept && !all_in_it) ++bad.first;
      if (!near) ++bad.second;
    }
    return bad;
  }
  // The least that members of one role come to; none: they have no places.
  [[nodiscard]] std::optional<Badness> least(const CpuRole& role) const {
    std::optional<Badness> best;
    std::vector<unsigned> members(t_.hosts().size());
    visit(role, 0, role.members, {0, 0}, members, best);
    return best;
  }

 private:
  [[nodiscard]] std::size_t free_of(HostId host) const {
    std::size_t free = 0;
    for (std::size_t g = 0; g < t_.gpus(host).size(); ++g) {
      free += (case_.on.allocations[host.index()].used >> g & 1U) == 0 ? 1 : 0;
    }
    return free;
  }
  void visit(const CpuRole& role, std::size_t host, std::uint32_t left, Badness sum, std::vector<unsigned>& members,
             std::optional<Badness>& best) const {
    if (left == 0) {
      if (!best || sum < *best) best = sum;
      return;
    }
    if (host == members.size()) return;
    const HostId at(static_cast<std::uint32_t>(host));
    const std::uint32_t most = !may(at) ? 0 : role.max_per_node == 0 ? left : std::min(left, role.max_per_node);
    const Badness one = most == 0 ? Badness{0, 0} : badness(at);
    for (std::uint32_t count = 0; count <= most; ++count) {
      visit(role, host + 1, left - count, {sum.first + one.first * count, sum.second + one.second * count}, members,
            best);
    }
  }

  const Case& case_;
  const fabric::Topology& t_;
  std::set<HostId> own_;
};

TEST(CpuSeats, MembersAreNearTheirJobAndLeaveWholeGroupsWhole) {
  std::size_t placed = 0, beside = 0, breaking = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const Case one = random_case(random);
    SCOPED_TRACE(seed);
    const auto& t = one.on.fabric->topology();
    Placer placer(one.on.fabric);
    placer.sync(one.on.allocations);
    const auto result = placer.place(one.spec);
    JobSpec without = one.spec;
    without.cpu_roles.clear();
    const auto alone = placer.place(without);
    ASSERT_EQ(placer.fits(one.spec), result.outcome == Outcome::placed);
    if (alone.outcome != Outcome::placed) {
      EXPECT_NE(result.outcome, Outcome::placed);
      continue;
    }
    const Oracle oracle(one, alone.placement);
    const bool has_places =
        std::ranges::all_of(one.spec.cpu_roles, [&](const CpuRole& role) { return oracle.least(role).has_value(); });
    ASSERT_EQ(result.outcome == Outcome::placed, has_places) << result.explanation.message;
    if (!has_places) {
      EXPECT_EQ(result.explanation.code, "jobs.noCpuNodes");
      continue;
    }
    ++placed;
    EXPECT_EQ(result.placement.gpu_of_rank, alone.placement.gpu_of_rank) << "they do not move ranks";
    ASSERT_EQ(result.placement.cpu_seats.size(), one.spec.cpu_roles.size());
    for (std::size_t r = 0; r < one.spec.cpu_roles.size(); ++r) {
      const CpuRole& role = one.spec.cpu_roles[r];
      const CpuSeats& seats = result.placement.cpu_seats[r];
      EXPECT_EQ(seats.role, role.name);
      ASSERT_EQ(seats.nodes.size(), role.members);
      std::map<HostId, std::uint32_t> count;
      Badness sum{0, 0};
      for (const auto& name : seats.nodes) {
        const HostId host = t.find_host(name);
        ASSERT_TRUE(host && oracle.may(host)) << name;
        ++count[host];
        const Badness bad = oracle.badness(host);
        sum = {sum.first + bad.first, sum.second + bad.second};
        if (!oracle.own(host)) ++beside;
        if (bad.first > 0) ++breaking;
      }
      EXPECT_EQ(sum, *oracle.least(role));
      std::uint32_t fewest = UINT32_MAX, most = 0;
      for (const HostId host : t.hosts()) {
        const std::uint32_t has = count.contains(host) ? count[host] : 0;
        EXPECT_LE(has, role.max_per_node == 0 ? role.members : role.max_per_node);
        if (!oracle.own(host)) continue;
        fewest = std::min(fewest, has);
        most = std::max(most, has);
      }
      EXPECT_LE(most - fewest, 1U) << "evenly on the nodes of the job";
    }
  }
  EXPECT_GT(placed, 150U);
  EXPECT_GT(beside, 50U) << "members beside their job";
  EXPECT_GT(breaking, 10U) << "where no other place exists";
}

TEST(CpuSeats, ARefusalSaysHowManyMembersANodeWouldHaveToTake) {
  Random random(1);
  CabledPlan plan = testing_support::random_cabled(random, 4, 2, 0);
  Placer placer(plan.build());
  JobSpec spec;
  spec.parallelism.data = 2;
  spec.cpu_roles = {{"loader", 9, 2}};
  const auto refused = placer.place(spec);
  EXPECT_EQ(refused.outcome, Outcome::never);
  EXPECT_EQ(refused.explanation.message,
            "the CPU-only role loader has 9 members, at most 2 on a node, and 4 nodes may take them; with 3 on a node "
            "they would have places");
  spec.cpu_roles[0].max_per_node = 3;
  EXPECT_EQ(placer.place(spec).outcome, Outcome::placed);
}

}  // namespace
}  // namespace railweave::scheduler::cpu_seats_test
