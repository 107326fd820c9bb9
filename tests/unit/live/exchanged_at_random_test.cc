// Any exchanges of cables, then others, by seed.
#include <random>
#include <vector>

#include "tests/unit/live/exchanged_cables_fixture.h"

namespace railweave::control {
namespace {

class ExchangedAtRandom : public ExchangedCables {};

// By seed: any exchanges, then others. What is in force equals a fresh import of the fabric as it is cabled.
TEST_F(ExchangedAtRandom, AfterAnyExchangesTheStateIsThatOfAFreshImport) {
  start_tree();
  must(PutTenant{{.name = "research"}, {}});
  must(submit_job("research", 2, 3));
  std::size_t followed = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Recabled cables(*topology_);
    std::vector<std::size_t> between, hosts;
    for (std::size_t i = 0; i < cables.cables(); ++i) (cables.joins_switches(i) ? between : hosts).push_back(i);
    for (std::uint64_t i = random() % 4; i > 0; --i) {
      auto& some = random() % 3 == 0 ? hosts : between;
      cables.exchange(some[random() % some.size()], some[random() % some.size()],
                      &some == &between && random() % 4 == 0);
    }
    truth_ = cables.build();
    if (truth_ == nullptr || truth_->links().size() != topology_->links().size())
      continue;  // a cable from a port to itself
    now_us_ += CablingFollower::kWindowUs;
    become(cables);
    sweeps(4);
    ++followed;
    const auto document = fabric::write_native_json(*truth_);
    EXPECT_EQ(fabric::write_native_json(*accepted().topology), document);
    EXPECT_EQ(accepted().digest, api::sha256_hex(document));
    EXPECT_EQ(accepted().intended == nullptr, document == fabric::write_native_json(*topology_));
    ClusterState fresh;
    fresh.set_topology(truth_);
    state_->jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      EXPECT_TRUE(job->holds_gpus());
      if (job->holds_gpus()) fresh.hold_gpus(*job, true);
      return true;
    });
    EXPECT_EQ(state_->free_gpus, fresh.free_gpus);
    for (std::size_t host = 0; host < fresh.allocations.size(); ++host) {
      EXPECT_EQ(state_->allocations[host], fresh.allocations[host]);
    }
    for (const auto link : truth_->links()) EXPECT_EQ(state_->view.state(link), fabric::LinkState::up);
    EXPECT_EQ(codec_.encode_state(replayed()), state_text());
    EXPECT_EQ(walk_by_hand().lost, 0U);
  }
  EXPECT_GT(followed, 5U);
}

}  // namespace
}  // namespace railweave::control
