// Guaranteed jobs on small irregular fabrics by seed, empty and partly full: a job that has a place is placed, one that is
// refused has none. All sets of free hosts are enumerated; what each loads is found hop by hop from what switches hold
// (naive_walk.h) as a largest matching of the pairs that cross a link. No code is shared with what searches or admits.
#include <array>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "tests/unit/capacity/naive_walk.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::guaranteed_places_test {
namespace {

using fabric::testing::LinkWay;
using testing::Cluster;
using Hosts = std::vector<std::uint32_t>;
using Loads = std::map<LinkWay, std::int64_t>;

constexpr unsigned kGpus = 4;  // of a host, behind one adapter

// Leaves of different sizes, missing cables between leaves and spines, some cables slower than others.
fabric::TopologyPtr irregular(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t end) { return static_cast<unsigned>(random() % end); };
  fabric::TopologyBuilder builder;
  const unsigned leaves = 2 + below(3), spines = 1 + below(3);
  const auto cable = [&] {
    return fabric::infiniband_link(4, below(4) == 0 ? fabric::LinkSpeed::hdr : fabric::LinkSpeed::ndr);
  };
  std::vector<decltype(builder.add_switch({}))> top;
  for (unsigned s = 0; s < spines; ++s) {
    top.push_back(builder.add_switch({.guid = Guid(0x200 + s), .name = "spine-" + std::to_string(s), .ports = leaves}));
  }
  unsigned number = 0;
  for (unsigned l = 0; l < leaves; ++l) {
    const unsigned hosts = 1 + below(4);
    const auto leaf =
        builder.add_switch({.guid = Guid(0x100 + l), .name = "leaf-" + std::to_string(l), .ports = hosts + spines});
    for (unsigned h = 0; h < hosts; ++h, ++number) {
      const auto host = builder.host("node-" + std::to_string(number));
      const auto hca = builder.add_hca({.guid = Guid(0x1000 + number), .host = host, .device = "mlx5_0"});
      builder.connect({leaf, h + 1}, {hca, 1}, fabric::infiniband_link(4, fabric::LinkSpeed::ndr));
      for (unsigned g = 0; g < kGpus; ++g) builder.add_nic(builder.add_gpu(host), hca);
    }
    for (unsigned s = 0; s < spines; ++s) {
      if (s == 0 || below(6) != 0) builder.connect({leaf, hosts + s + 1}, {top[s], l + 1}, cable());
    }
  }
  auto topology = std::move(builder).build();
  RAILWEAVE_CHECK(topology.has_value(), "it is a fabric");
  return std::make_shared<const fabric::Topology>(std::move(*topology));
}

// Of pairs of hosts, each of which may be in one chosen pair as a source and in one as a target: how many at once.
std::size_t largest_matching(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
  std::map<std::uint32_t, std::uint32_t> source_of;
  std::set<std::uint32_t> seen;
  const std::function<bool(std::uint32_t)> match = [&](std::uint32_t source) {
    for (const auto& [from, to] : pairs) {
      if (from != source || !seen.insert(to).second) continue;
      if (!source_of.contains(to) || match(source_of[to])) {
        source_of[to] = source;
        return true;
      }
    }
    return false;
  };
  std::set<std::uint32_t> sources;
  for (const auto& [from, to] : pairs) sources.insert(from);
  std::size_t size = 0;
  for (const auto source : sources) {
    seen.clear();
    size += match(source) ? 1 : 0;
  }
  return size;
}

class Site {
 public:
  explicit Site(std::uint64_t seed) : random(seed), cluster(irregular(random)) {
    auto terms = testing::terms(400);
    terms.classes = {"all-reduce"};
    cluster.contract(terms);
    EXPECT_TRUE(book_.bring_to(cluster.state));
    const auto& t = cluster.state.topology();
    for (const auto host : t.hosts()) free.insert(host.value());
    for (const auto a : t.hosts()) {
      for (const auto b : t.hosts()) {
        if (a == b) continue;
        const auto& routes = *book_.routes();
        auto path = fabric::testing::walk(routes.input.view, routes.routing.tables, t.ports(t.hcas(a)[0])[0],
                                          t.ports(t.hcas(b)[0])[0]);
        if (path) paths_[{a.value(), b.value()}] = std::move(*path);
      }
    }
    const auto& classes = *cluster.state.qos_classes;
    share_ = std::ranges::find(classes, "all-reduce", &fabric::QosClass::name)->share_permille;
  }
  // None: some cannot reach each other.
  [[nodiscard]] std::optional<Loads> loads(const Hosts& hosts, std::int64_t mbps) const {
    std::map<LinkWay, std::vector<std::pair<std::uint32_t, std::uint32_t>>> pairs;
    for (const auto a : hosts) {
      for (const auto b : hosts) {
        if (a == b) continue;
        const auto path = paths_.find({a, b});
        if (path == paths_.end()) return std::nullopt;
        for (const auto& way : path->second) pairs[way].emplace_back(a, b);
      }
    }
    Loads loads;
    for (const auto& [way, crossing] : pairs) {
      loads[way] = static_cast<std::int64_t>(largest_matching(crossing)) * mbps;
    }
    return loads;
  }
  [[nodiscard]] bool fits(const Hosts& hosts, std::int64_t mbps) const {
    const auto own = loads(hosts, mbps);
    return own && std::ranges::all_of(*own, [&](const auto& entry) {
             const auto& spec = cluster.state.topology().spec(fabric::LinkId(entry.first.first));
             const std::int64_t limit = spec.rate.value() * 950 / 1000 * share_ / 1000;
             const auto reserved = reserved_.find(entry.first);
             return entry.second + (reserved == reserved_.end() ? 0 : reserved->second) <= limit;
           });
  }
  [[nodiscard]] bool has_place(std::size_t size, std::int64_t mbps) const {
    const Hosts hosts(free.begin(), free.end());
    Hosts chosen;
    const std::function<bool(std::size_t)> choose = [&](std::size_t from) {
      if (chosen.size() == size) return fits(chosen, mbps);
      for (std::size_t i = from; i < hosts.size(); ++i) {
        chosen.push_back(hosts[i]);
        const bool found = choose(i + 1);
        chosen.pop_back();
        if (found) return true;
      }
      return false;
    };
    return choose(0);
  }
  [[nodiscard]] Hosts hosts_of(const Job& job) const {
    std::set<std::uint32_t> hosts;
    for (const auto gpu : job.placement.gpu_of_rank) hosts.insert(cluster.state.topology().host(gpu).value());
    return {hosts.begin(), hosts.end()};
  }
  void note(const Job& job, std::int64_t mbps) {
    const Hosts hosts = hosts_of(job);
    const auto own = loads(hosts, mbps);
    for (const auto& [way, load] : *own) reserved_[way] += load;
    for (const auto host : hosts) free.erase(host);
  }

  std::mt19937_64 random;
  Cluster cluster;
  std::set<std::uint32_t> free;

 private:
  GuaranteeBook book_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<LinkWay>> paths_;
  std::map<LinkWay, std::int64_t> reserved_;
  std::int64_t share_ = 0;
};

SubmitJob whole_hosts(std::uint32_t hosts, std::int64_t mbps) {
  SubmitJob command;
  command.spec.name = "job";
  command.spec.tenant = "t";
  command.spec.parallelism = {.tensor = 1, .data = hosts * kGpus};
  command.spec.bandwidth = scheduler::BandwidthTerms{.guaranteed = RateMbps(mbps)};
  return command;
}

struct Seen {
  std::size_t placed = 0, proven = 0, gave_up = 0, gave_up_though_possible = 0;
};

bool says_proven(const std::string& message) {
  return message.find("no other free nodes have room") != std::string::npos &&
         message.find("it is not known") == std::string::npos;
}

// The first on an empty fabric, the others on what it leaves.
void submit_some(Site& site, bool queue, Seen& seen) {
  for (int step = 0; step < 4; ++step) {
    const auto size = static_cast<std::uint32_t>(2 + site.random() % 5);
    if (size > site.free.size()) continue;
    const auto mbps = static_cast<std::int64_t>(std::array{20, 33, 45, 66, 90, 133}[site.random() % 6]) * 1000;
    const bool possible = site.has_place(size, mbps);
    SubmitJob job = whole_hosts(size, mbps);
    job.queue = queue;
    const auto done = site.cluster.ask(job);
    std::string refused;
    JobPtr placed;
    if (done && queue) {
      QueueRunner runner(site.cluster.placers, 0);
      for (const auto& event : runner.run(site.cluster.state, site.cluster.now_us)) {
        apply(site.cluster.state, Event{site.cluster.state.seq + 1, 1, site.cluster.now_us, "queue", event});
      }
      const auto queued = site.cluster.state.jobs.find(site.cluster.last_job);
      if (queued->holds_gpus()) {
        placed = queued;
      } else {
        ASSERT_EQ(runner.view()->waiting.size(), 1U);
        refused = scheduler::said(runner.view()->waiting.front().reason).whole_text();
        site.cluster.must(EndJob{queued->id, JobState::cancelled, {}, {}});
      }
    } else if (done) {
      placed = site.cluster.state.jobs.find(site.cluster.last_job);
    } else {
      refused = done.error().error.message;
      if (done.error().error.code == "admission.neverFits") {  // no cable of an adapter carries it
        EXPECT_FALSE(possible) << refused;
        continue;
      }
    }
    if (placed != nullptr) {
      ASSERT_TRUE(possible) << "placed where nothing has room";
      ASSERT_TRUE(site.fits(site.hosts_of(*placed), mbps)) << "placed where links are too full";
      site.note(*placed, mbps);
      ++seen.placed;
    } else if (says_proven(refused)) {
      EXPECT_FALSE(possible) << size << " hosts at " << mbps << ": " << refused;
      ++seen.proven;
    } else {
      EXPECT_NE(refused.find("gave up"), std::string::npos) << refused;
      ++seen.gave_up;
      seen.gave_up_though_possible += possible ? 1U : 0U;
    }
    if (::testing::Test::HasFailure()) return;
  }
}

void print(const char* what, const Seen& seen) {
  std::printf("%s: %zu placed, %zu refused as proven, %zu gave up (%zu of them though there was a place)\n", what,
              seen.placed, seen.proven, seen.gave_up, seen.gave_up_though_possible);
}

TEST(GuaranteedPlaces, AreFoundWhereThereAreAnyAndRefusedWhereThereAreNone) {
  for (const bool queue : {false, true}) {
    Seen seen;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed) + (queue ? ", queued" : ""));
      Site site(seed);
      submit_some(site, queue, seen);
      if (::testing::Test::HasFailure()) return;
    }
    print(queue ? "queued" : "submitted", seen);
    EXPECT_GT(seen.placed, 200U);
    EXPECT_GT(seen.proven, 30U);
    EXPECT_EQ(seen.gave_up, 0U);
  }
}

}  // namespace
}  // namespace railweave::control::guaranteed_places_test
