// Links between sites that fail, are drained and return: reported, alarmed, and obeyed by everything that knows of them.
#include <map>
#include <random>
#include <set>

#include "fabric/topology/site_link_name.h"
#include "services/control/decide/drain_preview.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/views/contention_book.h"
#include "tests/support/seeds.h"
#include "tests/unit/control/control_fixture.h"

namespace railweave::control::site_links_test {
namespace {

using fabric::GpuId;
using fabric::LinkState;
using fabric::SiteLinkId;

struct Joined {
  std::size_t a, b;  // sites, a < b
  std::uint32_t links = 1;
  float latency_us = 500;
  std::int64_t mbps = 100'000;
};

// Sites "a", "b", ... of two hosts of two GPUs under one leaf each.
constexpr std::size_t kGpusOfSite = 4;
fabric::TopologyPtr sites(std::size_t count, const std::vector<Joined>& joined, const std::string& prefix = "") {
  fabric::TopologyBuilder builder;
  std::vector<fabric::SiteId> ids;
  for (std::size_t s = 0; s < count; ++s) {
    const std::string name(1, static_cast<char>('a' + s));
    ids.push_back(builder.site(prefix + name));
    const auto leaf = builder.add_switch({.guid = Guid(0x100 + s),
                                          .name = "leaf-" + name,
                                          .ports = 8,
                                          .subnet = builder.subnet("net-" + name),
                                          .site = ids.back()});
    for (unsigned h = 0; h < 2; ++h) {
      const auto host = builder.host(name + std::to_string(h));
      builder.set_site(host, ids.back());
      const auto hca = builder.add_hca({.guid = Guid(0x1000 + 16 * s + h), .host = host, .device = "mlx5_0"});
      builder.connect({leaf, h + 1}, {hca, 1}, fabric::infiniband_link(4, fabric::LinkSpeed::ndr));
      const auto domain = builder.nvlink_domain(name + std::to_string(h), "", from_gbps(3600));
      for (unsigned g = 0; g < 2; ++g) {
        const auto gpu = builder.add_gpu(host);
        builder.set_nvlink_domain(gpu, domain);
        builder.add_nic(gpu, hca);
      }
    }
  }
  for (const Joined& link : joined) {
    builder.join_sites({.a = ids[link.a],
                        .b = ids[link.b],
                        .links = link.links,
                        .rate = RateMbps(link.mbps),
                        .latency_us = link.latency_us});
  }
  return std::make_shared<const fabric::Topology>(std::move(builder).build().value());
}

ReportLinks report(const std::string& link, LinkState state, std::uint32_t links_up = 0) {
  return {"", {{link, state, false, links_up}}, "cut by a digger"};
}

class SiteLinksTest : public ControlTest {
 protected:
  void start_on(const fabric::TopologyPtr& topology) {
    start();
    must(accept(topology));
    must(PutTenant{{.name = "research"}, {}});
  }
  static SubmitJob across(std::uint32_t data = 4) {
    auto command = submit_job("research", 2, data);
    command.spec.across_sites = true;
    return command;
  }
  [[nodiscard]] JobPtr job(JobId id) const { return loop_->state()->jobs.find(id); }
  // From the journal alone, and from a snapshot.
  void expect_replay() {
    EXPECT_EQ(codec_.encode_state(replayed()), state_text());
    const auto state = loop_->state();
    const auto read = codec_.decode_state({state->seq, state->term, 1, 1, codec_.encode_state(*state)},
                                          [this](const std::string& digest) { return journal_->blob(digest); });
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(codec_.encode_state(*read), state_text());
    EXPECT_EQ(read->view.site_links_in_use(), state->view.site_links_in_use());
    EXPECT_TRUE(
        std::ranges::equal(read->placement_fabric->site_links_in_use(), state->placement_fabric->site_links_in_use()));
  }
};

TEST_F(SiteLinksTest, OneThatFailsIsAlarmedAndDamagesTheJobAcrossItInTheSameTransaction) {
  start_on(sites(2, {{0, 1}}));
  const auto placed = ask(across());
  ASSERT_TRUE(placed) << placed.error().error.text();
  const auto down = ask(report("a--b", LinkState::down));
  ASSERT_TRUE(down);
  const ClusterState& state = *down->state;
  EXPECT_EQ(state.view.state(SiteLinkId(0)), LinkState::down);
  ASSERT_TRUE(state.alarms->contains("link.down:a--b"));
  const Alarm& alarm = state.alarms->at("link.down:a--b");
  EXPECT_EQ(alarm.severity, AlarmSeverity::critical);
  EXPECT_EQ(alarm.jobs, std::vector<std::string>{to_string(placed->job)});
  EXPECT_EQ(alarm.text.whole_text(),
            "link a--b between the sites a and b is down; 1 job runs across it, without another route: " +
                to_string(placed->job));
  const auto damaged = state.jobs.find(placed->job);
  EXPECT_TRUE(damaged->damage.whole_text().starts_with("4 GPUs on b0, b1 cut off, link a--b is down"))
      << damaged->damage.whole_text();
  EXPECT_TRUE(state.alarms->contains("job.damaged:" + to_string(placed->job)));
  expect_replay();

  const auto again = ask(report("a--b", LinkState::down));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->state->seq, state.seq) << "what is known is no event";
  const auto up = ask(report("a--b", LinkState::up));
  ASSERT_TRUE(up);
  EXPECT_TRUE(up->state->alarms->empty());
  EXPECT_EQ(up->state->jobs.find(placed->job)->damage, "");
  EXPECT_EQ(up->state->placement_fabric->whole(), nullptr);
  expect_replay();
}

TEST_F(SiteLinksTest, NothingIsPlacedAcrossOneThatIsOutOfUseAndAWaitingJobSaysWhy) {
  start_on(sites(2, {{0, 1}}));
  must(report("a--b", LinkState::down));
  const auto refused = ask(across());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "jobs.unreachable");
  EXPECT_EQ(refused.error().error.kind, ErrorKind::conflict) << "not now, rather than never";
  EXPECT_NE(refused.error().error.message.find("out of use meanwhile: a--b"), std::string::npos)
      << refused.error().error.message;
  auto waits = across();
  waits.queue = true;
  const auto queued = ask(waits);
  ASSERT_TRUE(queued);
  const auto waiting = job(queued->job);
  ASSERT_EQ(waiting->state, JobState::queued);
  EXPECT_EQ(waiting->waits, "noCapacity");
  EXPECT_NE(waiting->history.back().reason.whole_text().find("out of use meanwhile: a--b"), std::string::npos)
      << waiting->history.back().reason.whole_text();
  const auto near = ask(across(2));
  ASSERT_TRUE(near) << "one site is enough for it";
  must(EndJob{near->job, JobState::completed, ""});
  must(report("a--b", LinkState::up));
  EXPECT_TRUE(published_until([&] { return job(queued->job)->state == JobState::placed; }));
  // No state of the fabric holds this one.
  must(report("a--b", LinkState::down));
  const auto never = ask(across(8));
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().error.kind, ErrorKind::impossible) << never.error().error.text();
}

TEST_F(SiteLinksTest, JobsTakeAnotherRouteWhereThereIsOneAndSlowDownWhereAParallelLinkIsLost) {
  start_on(sites(3, {{0, 1, 4}, {0, 2, 1, 900}, {1, 2, 1, 900}}));
  const auto predicted = [&](const ClusterState& state) {
    PlacerCache placers;
    const auto placed = placers.at(state).place(across(4).spec);
    EXPECT_EQ(placed.outcome, scheduler::Outcome::placed);
    return placed.placement.predicted->communication_us;
  };
  const double whole = predicted(*loop_->state());
  must(report("a--b", LinkState::degraded, 1));
  EXPECT_GT(predicted(*loop_->state()), whole) << "a quarter of its rate";
  ASSERT_TRUE(loop_->state()->alarms->contains("link.degraded:a--b"));
  EXPECT_NE(loop_->state()->alarms->at("link.degraded:a--b").text.whole_text().find("1 of its 4 parallel links are up"),
            std::string::npos);
  const auto placed = ask(across(6));  // all GPUs of all sites
  ASSERT_TRUE(placed) << placed.error().error.text();
  must(report("a--b", LinkState::down));
  EXPECT_FALSE(loop_->state()->alarms->contains("link.degraded:a--b"));
  EXPECT_EQ(job(placed->job)->damage, "") << "by way of c";
  EXPECT_EQ(loop_->state()->alarms->at("link.down:a--b").jobs.size(), 1U);
  must(report("a--c", LinkState::down));
  EXPECT_TRUE(job(placed->job)->damage.whole_text().starts_with("4 GPUs on a0, a1 cut off"))
      << job(placed->job)->damage.whole_text();
  expect_replay();
}

TEST_F(SiteLinksTest, ADrainIsRefusedWhereJobsNeedTheLinkAndIsCompleteOnceNoneDoes) {
  start_on(sites(2, {{0, 1}}));
  const auto target = resolve(loop_->state()->topology(), DrainKind::link, "b--a");
  ASSERT_TRUE(target);
  EXPECT_EQ(to_string(*target), "siteLink a--b");
  const auto placed = ask(across());
  ASSERT_TRUE(placed);
  const auto preview = preview_site_link_drain(*loop_->state(), *target);
  ASSERT_EQ(preview.jobs.size(), 1U);
  EXPECT_TRUE(preview.jobs.front().cut_off);
  ASSERT_EQ(preview.objections.size(), 1U);
  EXPECT_FALSE(ask(RequestDrain{*target, "", false, preview.objections, loop_->state()->view_version}));
  must(RequestDrain{*target, "splicing", true, preview.objections, loop_->state()->view_version});
  EXPECT_EQ(loop_->state()->drains->at(*target).state, DrainState::requested);
  EXPECT_NE(job(placed->job)->damage.whole_text().find("link a--b is drained"), std::string::npos)
      << job(placed->job)->damage.whole_text();
  EXPECT_FALSE(loop_->state()->alarms->contains("link.down:a--b")) << "it is out of use on purpose";
  expect_replay();
  must(EndJob{placed->job, JobState::completed, ""});
  EXPECT_EQ(loop_->state()->drains->at(*target).state, DrainState::drained);
  EXPECT_FALSE(ask(across()));
  must(ClearDrain{*target, ""});
  EXPECT_TRUE(ask(across()));
  expect_replay();
}

TEST_F(SiteLinksTest, AGuaranteeAcrossOneThatFailsIsAtRiskUntilItReturns) {
  for (const auto promise : {fabric::TrafficPromise::hose, fabric::TrafficPromise::pattern}) {
    SCOPED_TRACE(static_cast<int>(promise));
    stop();
    start_on(sites(2, {{0, 1}}));
    scheduler::Contract terms;
    terms.tenant = "research";
    terms.guaranteed = from_gbps(10);
    terms.promise = promise;
    must(PutContract{terms, {}});
    const auto placed = ask(across());
    ASSERT_TRUE(placed) << placed.error().error.text();
    ASSERT_FALSE(job(placed->job)->guarantee->at_risk());
    DrainPreview preview = preview_site_link_drain(*loop_->state(), {DrainKind::site_link, "a--b"});
    GuaranteeBook book(std::make_shared<RoutingCache>());
    preview_guarantees(*loop_->state(), book, preview);
    ASSERT_EQ(preview.guarantees_at_risk.size(), 1U);
    EXPECT_EQ(preview.guarantees_at_risk.front().job, placed->job);
    must(report("a--b", LinkState::down));
    ASSERT_TRUE(job(placed->job)->guarantee->at_risk());
    EXPECT_EQ(job(placed->job)->guarantee->links, std::vector<std::string>{"a--b"});
    EXPECT_NE(job(placed->job)->guarantee->reason.whole_text().find("link a--b is down"), std::string::npos);
    EXPECT_TRUE(loop_->state()->alarms->contains("guarantee.atRisk:" + to_string(placed->job)));
    must(report("a--b", LinkState::up));
    EXPECT_FALSE(job(placed->job)->guarantee->at_risk());
    expect_replay();
    must(EndJob{placed->job, JobState::completed, ""});
    must(RemoveContract{"research", {}});
  }
}

TEST_F(SiteLinksTest, StatesAndDrainsSurviveAnImportAndOneWithoutTheLinkNamesIt) {
  const std::vector<Joined> joined = {{0, 1}, {0, 2}, {0, 2, 2, 700}, {1, 2}};
  start_on(sites(3, joined));
  const auto& before = loop_->state()->topology();
  EXPECT_EQ(fabric::site_link_text(before, SiteLinkId(1)), "a--c/1");
  EXPECT_EQ(fabric::site_link_text(before, SiteLinkId(2)), "a--c/2");
  EXPECT_EQ(fabric::find_site_link(before, "c--a/2"), SiteLinkId(2));
  EXPECT_FALSE(fabric::find_site_link(before, "a--c"));
  must(report("a--c/2", LinkState::degraded, 1));
  must(report("a--b", LinkState::down));
  must(RequestDrain{{DrainKind::site_link, "b--c"}, "", false, {}, loop_->state()->view_version});
  must(accept(sites(4, joined)));  // one site more
  const auto in_use = std::vector<std::uint32_t>{0, 1, 1, 0};
  EXPECT_EQ(loop_->state()->view.site_links_in_use(), in_use);
  ASSERT_NE(loop_->state()->placement_fabric->whole(), nullptr);
  EXPECT_TRUE(std::ranges::equal(loop_->state()->placement_fabric->site_links_in_use(), in_use));
  EXPECT_TRUE(loop_->state()->alarms->contains("link.down:a--b"));
  expect_replay();
  const std::uint64_t seq = loop_->state()->seq;
  must(accept(sites(4, {{0, 2}, {0, 3}})));
  std::set<std::string> named;
  const auto state = std::make_shared<ClusterState>();
  ASSERT_TRUE(db::replay(*journal_, 0, [&](const db::Record& record) -> Result<void> {
    auto event = codec_.decode(record, *state, [this](const std::string& digest) { return journal_->blob(digest); });
    if (!event) return std::unexpected(event.error());
    if (const auto* differs = std::get_if<TopologyDiffers>(&event->body); differs != nullptr && event->seq > seq) {
      named.insert(differs->subject_kind + " " + differs->subject_id);
    }
    apply(*state, *event);
    return {};
  }));
  EXPECT_EQ(named, (std::set<std::string>{"link a--b", "link a--c/2", "drain b--c"}));
  EXPECT_TRUE(loop_->state()->alarms->empty()) << "none about a link that is gone";
  EXPECT_EQ(loop_->state()->placement_fabric->whole(), nullptr);
  expect_replay();
}

TEST_F(SiteLinksTest, AJobAcrossOneThatIsDownKeepsItsLevelOverAnImport) {
  start_on(sites(2, {{0, 1}}));
  const auto placed = ask(across());
  ASSERT_TRUE(placed);
  must(report("a--b", LinkState::down));
  must(accept(sites(3, {{0, 1}})));
  EXPECT_EQ(job(placed->job)->placement.level, fabric::LevelKind::wan);
  EXPECT_NE(job(placed->job)->damage, "");
  must(report("a--b", LinkState::up));
  EXPECT_EQ(job(placed->job)->damage, "");
  expect_replay();
}

// --- random fabrics: the state with links out of use is that of a fabric made without them

struct Case {
  std::size_t count = 0;
  std::vector<Joined> all, left;  // as imported; what is in use
  ClusterState with, without;

  explicit Case(std::mt19937_64& random) {
    const auto pick = [&](std::size_t n) { return random() % n; };
    count = 2 + pick(4);
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = a + 1; b < count; ++b) {
        for (std::size_t parallel = pick(3); parallel > 0; --parallel) {
          // Delays differ, so that the order of the table does not follow from what varies.
          all.push_back({a, b, static_cast<std::uint32_t>(1 + pick(3)), static_cast<float>(1000 * parallel + pick(900)),
                         static_cast<std::int64_t>(10'000 * (1 + pick(9)))});
        }
      }
    }
    set(with, sites(count, all));
    const auto& topology = with.topology();
    std::map<std::tuple<std::size_t, std::size_t, float>, SiteLinkId> ids;
    for (const auto id : fabric::site_link_ids(topology)) {
      const auto& link = topology.site_links()[id.index()];
      ids[{link.a.index(), link.b.index(), link.latency_us}] = id;
    }
    for (Joined link : all) {
      const SiteLinkId id = ids.at({link.a, link.b, link.latency_us});
      const std::string name = fabric::site_link_text(topology, id);
      switch (pick(5)) {
        case 0:
          with.view.set_state(id, LinkState::down);
          continue;
        case 1:
          with.mark({DrainKind::site_link, name}, true);
          continue;
        case 2:
          link.links = static_cast<std::uint32_t>(1 + pick(link.links));
          with.view.set_state(id, LinkState::degraded, link.links);
          break;
        default:
          break;
      }
      left.push_back(link);
    }
    with.rejoin_sites();
    set(without, sites(count, left));
  }
  static void set(ClusterState& state, fabric::TopologyPtr topology) {
    state.set_topology(std::move(topology));
    state.accepted.digest = "of the test";
    state.view_version = state.seq = 1;
  }

  // By brute force: the sites that links left join.
  [[nodiscard]] std::vector<std::size_t> parts() const {
    std::vector<std::size_t> part(count);
    for (std::size_t s = 0; s < count; ++s) part[s] = s;
    for (std::size_t round = 0; round < count; ++round) {
      for (const Joined& link : left) part[link.a] = part[link.b] = std::min(part[link.a], part[link.b]);
    }
    return part;
  }
};

std::size_t site_of(GpuId gpu) { return gpu.index() / kGpusOfSite; }

scheduler::JobSpec random_spec(std::mt19937_64& random, std::size_t gpus) {
  scheduler::JobSpec spec;
  spec.tenant = "research";
  spec.across_sites = random() % 4 != 0;
  spec.parallelism.tensor = static_cast<std::uint32_t>(1 + random() % 2);
  spec.parallelism.pipeline = static_cast<std::uint32_t>(1 + random() % 3);
  spec.parallelism.data =
      static_cast<std::uint32_t>(1 + random() % (gpus / spec.parallelism.tensor / spec.parallelism.pipeline));
  return spec;
}

TEST(SiteLinksRandom, PlacementPredictionsAndReachAreThoseOfAFabricWithoutThem) {
  std::size_t placed = 0, waiting = 0, never = 0, cut = 0, whole = 0;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(150); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Case made(random);
    const std::size_t gpus = made.count * kGpusOfSite;
    ClusterState nominal;
    Case::set(nominal, sites(made.count, made.all));
    PlacerCache with, without, of_nominal;
    for (int i = 0; i < 12; ++i) {
      const auto spec = random_spec(random, gpus);
      const auto a = with.at(made.with).place(spec);
      const auto b = without.at(made.without).place(spec);
      const auto c = of_nominal.at(nominal).place(spec);
      if (b.outcome == scheduler::Outcome::never) {
        EXPECT_EQ(a.outcome,
                  c.outcome == scheduler::Outcome::never ? scheduler::Outcome::never : scheduler::Outcome::not_now);
        ++(c.outcome == scheduler::Outcome::never ? never : waiting);
        continue;
      }
      ASSERT_EQ(a.outcome, b.outcome);
      if (a.outcome != scheduler::Outcome::placed) continue;
      ++placed;
      EXPECT_EQ(a.placement.gpu_of_rank, b.placement.gpu_of_rank);
      EXPECT_EQ(a.placement.level, b.placement.level);
      ASSERT_TRUE(a.placement.predicted && b.placement.predicted);
      EXPECT_EQ(a.placement.predicted->communication_us, b.placement.predicted->communication_us);
      ContentionBook here, there;
      here.bring_to(made.with);
      there.bring_to(made.without);
      const auto beside = here.what_if(spec, a.placement.gpu_of_rank);
      const auto expected = there.what_if(spec, a.placement.gpu_of_rank);
      EXPECT_EQ(beside.own.shared.reachable, expected.own.shared.reachable);
      EXPECT_EQ(beside.own.shared.communication_us, expected.own.shared.communication_us);
    }
    const auto part = made.parts();
    for (int i = 0; i < 20; ++i) {
      std::vector<GpuId> ranks;
      for (std::size_t g = 0; g < gpus; ++g) {
        if (random() % 3 == 0) ranks.emplace_back(g);
      }
      if (ranks.empty()) continue;
      RankReach reach(made.with.view, made.with.placement_fabric);
      const auto lost = reach.cut_off(ranks);
      std::map<std::size_t, std::size_t> size;
      for (const GpuId gpu : ranks) ++size[part[site_of(gpu)]];
      std::size_t most = 0;
      for (const auto& [one, number] : size) most = std::max(most, number);
      EXPECT_EQ(lost.size(), ranks.size() - most) << "all but the largest part";
      std::set<std::size_t> stays;
      for (const GpuId gpu : ranks) {
        if (std::ranges::find(lost, gpu) == lost.end()) stays.insert(part[site_of(gpu)]);
      }
      EXPECT_EQ(stays.size(), 1U);
      ++(lost.empty() ? whole : cut);
      scheduler::JobSpec spec;
      spec.parallelism.data = static_cast<std::uint32_t>(ranks.size());
      EXPECT_EQ(JobReach(made.with).cut_off(spec, ranks).has_value(), !lost.empty());
    }
  }
  EXPECT_GT(placed, part_of_seeds(300));
  EXPECT_GT(waiting, part_of_seeds(50));
  EXPECT_GT(never, part_of_seeds(20));
  EXPECT_GT(cut, part_of_seeds(300));
  EXPECT_GT(whole, part_of_seeds(100));
}

TEST(SiteLinksRandom, LocalityIsThatOfAFabricWithoutThem) {
  std::size_t several = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Case made(random);
    const auto& is = made.with.placement_fabric->locality().levels;
    const auto& expected = made.without.placement_fabric->locality().levels;
    ASSERT_EQ(is.size(), expected.size());
    for (std::size_t i = 0; i < is.size(); ++i) {
      EXPECT_EQ(is[i].kind, expected[i].kind);
      EXPECT_EQ(is[i].group_of_host, expected[i].group_of_host);
      EXPECT_EQ(is[i].group_names, expected[i].group_names);
    }
    const auto part = made.parts();
    const std::set<std::size_t> parts(part.begin(), part.end());
    if (!made.left.empty()) {
      EXPECT_EQ(is.back().group_count, parts.size());
      several += parts.size() > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(several, 40U);
}

}  // namespace
}  // namespace railweave::control::site_links_test
