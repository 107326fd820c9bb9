// A follower on a journal that another loop writes: it publishes what was appended, refuses changes, and takes over.
#include "services/control/replica.h"

#include <atomic>

#include "tests/support/kept_log.h"
#include "tests/unit/control/control_fixture.h"

namespace railweave::control::replica_test {
namespace {

// One store, seen by a process that does not lead until it is let.
class SharedView final : public db::SharedJournal {
 public:
  explicit SharedView(db::Journal& store) : store_(store) {}
  Result<void> append(const db::Batch& batch) override {
    if (!leads_) return fail(ErrorKind::unavailable, "db.notLeader", "follows");
    return store_.append(batch);
  }
  Result<std::vector<db::Record>> read(const db::ReadFilter& filter) override { return store_.read(filter); }
  Result<std::uint64_t> last_seq() override {
    if (ends_at_) return *ends_at_;
    return store_.last_seq();
  }
  Result<void> save_snapshot(const db::Snapshot& snapshot) override { return store_.save_snapshot(snapshot); }
  Result<std::optional<db::Snapshot>> latest_snapshot() override { return store_.latest_snapshot(); }
  Result<std::optional<std::string>> blob(const std::string& digest) override { return store_.blob(digest); }
  bool leads() const override { return leads_; }
  std::uint64_t term() const override { return leads_ ? 7 : 0; }
  Result<bool> try_lead() override { return leads_ = true; }
  Result<bool> wait_for_news(std::chrono::milliseconds /*at_most*/) override {
    if (fails_) return fail(ErrorKind::unavailable, "db.cannotConnect", "the store is away");
    return lease_is_free_.load();
  }

  std::atomic<bool> leads_ = false, lease_is_free_ = false, fails_ = false;
  std::optional<std::uint64_t> ends_at_;

 private:
  db::Journal& store_;
};

class ReplicaTest : public ControlTest {
 protected:
  ~ReplicaTest() override {
    replica_.reset();
    if (follower_) follower_->stop();
  }
  void follow() {
    view_ = std::make_unique<SharedView>(*journal_);
    ControlOptions options;
    options.on_published = [this](const std::vector<db::Record>& records) {
      for (const auto& record : records) told_.push_back(record.seq);
    };
    follower_ = std::make_unique<ControlLoop>(*view_, codec_, std::move(options));
    ASSERT_TRUE(follower_->recover());
  }
  CommandResult ask_follower(decltype(Command::body) body) {
    std::promise<CommandResult> answer;
    auto future = answer.get_future();
    EXPECT_TRUE(follower_->submit({"tester", std::move(body)},
                                  [&](CommandResult result) { answer.set_value(std::move(result)); }));
    return future.get();
  }

  std::unique_ptr<SharedView> view_;
  std::unique_ptr<ControlLoop> follower_;
  std::unique_ptr<Replica> replica_;
  std::vector<std::uint64_t> told_;
};

TEST_F(ReplicaTest, AFollowerPublishesWhatTheLeaderAppendsAndRefusesChanges) {
  start();
  must(PutTenant{{.name = "early"}, {}});
  follow();
  EXPECT_EQ(follower_->phase(), Phase::following);
  EXPECT_TRUE(follower_->state()->tenants->contains("early"));
  EXPECT_TRUE(told_.empty()) << "what was there at the start is not news";
  must(accept(star_of_hosts(4, 8)));
  must(PutTenant{{.name = "research"}, {}});
  ASSERT_TRUE(ask(submit_job("research", 8, 1)));
  ASSERT_TRUE(follower_->follow());
  EXPECT_EQ(codec_.encode_state(*follower_->state()), codec_.encode_state(*loop_->state()));
  const std::uint64_t seq = loop_->state()->seq;
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_.front(), 2U);
  EXPECT_EQ(told_.back(), seq);
  EXPECT_EQ(told_.size(), seq - 1);
  const auto refused = ask_follower(PutTenant{{.name = "late"}, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "service.notReady");
  EXPECT_EQ(*journal_->last_seq(), seq);
}

TEST_F(ReplicaTest, ItTakesOverWithATermOfItsOwnWhenNoneLeads) {
  start();
  must(accept(star_of_hosts(4, 8)));
  must(PutTenant{{.name = "research"}, {}});
  follow();
  must(PutTenant{{.name = "late"}, {}});
  loop_->stop();  // the leader is gone
  std::promise<void> leads;
  ReplicaOptions options{.poll = std::chrono::milliseconds(1)};
  options.on_lead = [&]() -> Result<void> {
    follower_->start();
    leads.set_value();
    return {};
  };
  options.on_failed = [](const Error& error) { ADD_FAILURE() << error.text(); };
  const auto told = std::make_shared<log::testing::KeptLines>();
  options.log = log::Log(told, log::Levels());
  replica_ = std::make_unique<Replica>(*view_, *follower_, std::move(options));
  replica_->start();
  view_->lease_is_free_ = true;
  ASSERT_EQ(leads.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  replica_->stop();
  EXPECT_FALSE(replica_->follows());
  EXPECT_EQ(replica_->staleness().count(), 0);
  EXPECT_TRUE(follower_->state()->tenants->contains("late")) << "all that the one before had appended";
  ASSERT_TRUE(ask_follower(BeginTerm{"second", "http://127.0.0.1:1"}));
  const auto placed = ask_follower(submit_job("research", 8, 1));
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->state->term, 7U);
  EXPECT_EQ(told->with("warn ").size(), 0U);
  EXPECT_EQ(told->with("takes over: the lease is held, term 7").size(), 1U) << "the log tells of it";
  EXPECT_EQ(placed->state->leader.name, "second");
  EXPECT_EQ(placed->state->leader.term, 7U);
}

TEST_F(ReplicaTest, AStoreThatLostWhatWasReadIsNotLed) {
  start();
  must(PutTenant{{.name = "research"}, {}});
  must(PutTenant{{.name = "second"}, {}});
  follow();
  view_->leads_ = true;
  view_->ends_at_ = 1;
  const auto led = follower_->lead();
  ASSERT_FALSE(led);
  EXPECT_EQ(led.error().code, "journal.behind");
  EXPECT_EQ(follower_->phase(), Phase::following);
}

TEST_F(ReplicaTest, AFollowerThatCannotReachTheStoreGrowsStale) {
  start();
  follow();
  const auto told = std::make_shared<log::testing::KeptLines>();
  ReplicaOptions options{.poll = std::chrono::milliseconds(1)};
  options.on_lead = []() -> Result<void> { return {}; };
  options.on_failed = [](const Error&) {};
  options.log = log::Log(told, log::Levels());
  view_->fails_ = true;
  replica_ = std::make_unique<Replica>(*view_, *follower_, std::move(options));
  replica_->start();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (replica_->staleness().count() < 500 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_GE(replica_->staleness().count(), 500);
  EXPECT_EQ(told->with("warn ").size(), 1U) << "once for each reason";
  view_->fails_ = false;
  while (replica_->staleness().count() >= 500 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_LT(replica_->staleness().count(), 500);
  replica_->stop();
}

}  // namespace
}  // namespace railweave::control::replica_test
