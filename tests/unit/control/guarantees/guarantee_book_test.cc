// The book of guarantees, brought from state to state, is always the one that a fresh start makes.
#include <random>
#include <set>

#include "tests/unit/control/control_fixture.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::guarantee_book_test {
namespace {

using fabric::LinkState;
using testing::Cluster;
using testing::leaves_and_spines;
using testing::terms;

std::string text_of(const fabric::Ledger& ledger) {
  std::string text;
  for (const auto& reservation : ledger.reservations()) {
    text += reservation->job + "/" + std::to_string(reservation->qos_class) + ":";
    for (const auto& load : reservation->loads)
      text += " " + std::to_string(load.link) + "=" + std::to_string(load.mbps);
    text += "\n";
  }
  return text;
}

// Random jobs, contracts, links and drains, by seed. After each step: the updated book equals a new one; guarantees
// that hold fit on every link; those at risk do not fit.
class GuaranteeRandomTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(GuaranteeRandomTest, BookFollowsTheState) {
  std::mt19937 random(GetParam());
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  Cluster cluster(leaves_and_spines(4, 4, 3, 2));
  cluster.contract(terms(20, GetParam() % 2 == 0));
  auto other = terms(15);
  other.tenant = "u";
  other.promise = fabric::TrafficPromise::pattern;
  other.classes = {};
  cluster.contract(other);
  std::size_t at_risk = 0;
  std::size_t admitted = 0, moved = 0;
  for (int step = 0; step < 80; ++step) {
    const auto& t = cluster.state.topology();
    switch (pick(12)) {
      case 0:
      case 1:
      case 2: {
        auto job = Cluster::job(pick(2) == 0 ? "t" : "u", static_cast<std::uint32_t>(2 + pick(7)),
                                pick(4) == 0 ? "high" : "normal");
        if (pick(3) == 0) job.spec.parallelism = {.data = 2, .pipeline = 2};
        admitted += cluster.ask(job).has_value() ? 1 : 0;
        break;
      }
      case 3: {
        if (cluster.state.guaranteed->empty()) break;
        const auto id =
            *std::next(cluster.state.guaranteed->begin(), static_cast<long>(pick(cluster.state.guaranteed->size())));
        cluster.must(EndJob{id, JobState::completed, {}, {}});
        break;
      }
      case 4:
      case 5: {
        const auto link = fabric::LinkId(pick(t.links().size()));
        cluster.must(Cluster::report(t.link_text(link), LinkState::down));
        break;
      }
      case 6: {
        ReportLinks up{"default", {}};
        for (const auto link : t.links()) {
          if (pick(3) != 0) up.links.push_back({t.link_text(link), LinkState::up, false});
        }
        cluster.must(up);
        break;
      }
      case 7: {
        const DrainTarget spine{DrainKind::network_switch, "spine-" + std::to_string(pick(3))};
        if (cluster.state.drains->contains(spine)) {
          cluster.must(ClearDrain{spine, {}});
        } else {
          cluster.must(RequestDrain{spine, {}, true, {}, cluster.state.view_version});
        }
        break;
      }
      case 8: {
        auto policy = cluster.state.queue_rules->policy;
        policy.classes = {{"high", static_cast<std::int32_t>(pick(3)) - 1, false, false}};
        cluster.must(PutQueueRules{policy, {}});
        for (const char* tenant : {"t", "u"}) {  // both classes are allowed
          const char* highest = policy.classes.front().value > 0 ? "high" : "normal";
          cluster.must(PutTenant{{.name = tenant, .max_priority = highest}, {}});
        }
        break;
      }
      case 9: {
        for (const JobId id : *cluster.state.guaranteed) {
          if (!cluster.guarantee(id).at_risk()) continue;
          RepairJob move;
          move.id = id;
          move.for_guarantee = true;
          moved += cluster.ask(move).has_value() ? 1 : 0;
          break;
        }
        break;
      }
      case 10: {
        const auto spread = pick(2) == 0 ? fabric::PathSpread::adaptive : fabric::PathSpread::single;
        cluster.must(SetSubnetSpread{"default", spread, {}});
        break;
      }
      default: {
        auto changed = cluster.state.contracts->at(pick(2) == 0 ? "t" : "u").terms;
        changed.guaranteed = RateMbps(static_cast<std::int64_t>(5'000 + pick(20) * 1'000));
        (void)cluster.ask(PutContract{changed, {}, true});
      }
    }
    auto& book = cluster.placers.guarantees();
    ASSERT_TRUE(book.bring_to(cluster.state));
    GuaranteeBook fresh;
    ASSERT_TRUE(fresh.bring_to(cluster.state));
    ASSERT_EQ(text_of(book.ledger()), text_of(fresh.ledger())) << "step " << step;
    for (fabric::DirectedLink link = 0; link < book.ledger().links(); ++link) {
      for (std::uint8_t c = 0; c < book.ledger().classes(); ++c) {
        ASSERT_LE(book.ledger().reserved_mbps(link, c), book.ledger().limit_mbps(link, c)) << "step " << step;
      }
    }
    std::set<std::string> alarmed, lapsed;
    for (const auto& [id, alarm] : *cluster.state.alarms) alarmed.insert(alarm.subject_id);
    for (const JobId id : *cluster.state.guaranteed) {
      if (cluster.guarantee(id).at_risk()) lapsed.insert(to_string(id));
    }
    ASSERT_EQ(alarmed, lapsed) << "step " << step;
    for (const JobId id : *cluster.state.guaranteed) {
      const auto job = cluster.state.jobs.find(id);
      const auto wanted = fresh.plain(*job);
      if (!job->guarantee->at_risk()) {
        // Apart from reservations for failures, the need on the present routes is reserved.
        ASSERT_TRUE(wanted.complete);
        const auto held = book.ledger().reservations_of(to_string(id));
        for (const auto& load : wanted.reservation->loads) {
          ASSERT_EQ(held.size(), 1U);
          ASSERT_GE(fabric::load_on(held.front()->loads, load.link), load.mbps) << to_string(id) << " step " << step;
        }
        continue;
      }
      ++at_risk;
      ASSERT_TRUE(!wanted.complete ||
                  !fresh.ledger().full_links(wanted.reservation->loads, wanted.reservation->qos_class).empty())
          << to_string(id) << " could have been restored at step " << step;
    }
  }
  EXPECT_GT(admitted, 5U);
  RecordProperty("at_risk", static_cast<int>(at_risk));
  RecordProperty("moved", static_cast<int>(moved));
}

INSTANTIATE_TEST_SUITE_P(Seeds, GuaranteeRandomTest, ::testing::Range(1U, 25U));

}  // namespace
}  // namespace railweave::control::guarantee_book_test
