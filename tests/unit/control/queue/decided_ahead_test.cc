// While an append is under way, the commands that wait are decided on what it will make; if it fails, they fail with it.
#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include "tests/unit/control/control_fixture.h"

namespace railweave::control::decided_ahead_test {
namespace {

// A store whose appends wait until they are let go, and fail where they are told to.
class GatedJournal final : public db::Journal {
 public:
  explicit GatedJournal(std::unique_ptr<db::Journal> store) : store_(std::move(store)) {}

  Result<void> append(const db::Batch& batch) override {
    bool fails = false;
    {
      std::unique_lock lock(mutex_);
      appending_ = batch.records.empty() ? 0 : batch.records.back().seq;
      changed_.notify_all();
      changed_.wait(lock, [this] { return !closed_ || permits_ > 0; });
      if (closed_) --permits_;
      fails = std::exchange(fails_, false);
    }
    if (fails) return fail(ErrorKind::unavailable, "db.failed", "the store fails");
    return store_->append(batch);
  }
  Result<std::vector<db::Record>> read(const db::ReadFilter& filter) override { return store_->read(filter); }
  Result<std::uint64_t> last_seq() override { return store_->last_seq(); }
  Result<void> save_snapshot(const db::Snapshot& snapshot) override { return store_->save_snapshot(snapshot); }
  Result<std::optional<db::Snapshot>> latest_snapshot() override { return store_->latest_snapshot(); }
  Result<std::optional<std::string>> blob(const std::string& digest) override { return store_->blob(digest); }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    appending_ = 0;
  }
  void let_one() {
    const std::lock_guard lock(mutex_);
    ++permits_;
    appending_ = 0;
    changed_.notify_all();
  }
  void open(bool fails = false) {
    const std::lock_guard lock(mutex_);
    closed_ = false;
    fails_ = fails;
    changed_.notify_all();
  }
  void fail_next() {
    const std::lock_guard lock(mutex_);
    fails_ = true;
  }
  // The last record of the append that waits.
  std::uint64_t wait_for_append() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [this] { return appending_ != 0; });
    return appending_;
  }

 private:
  const std::unique_ptr<db::Journal> store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false, fails_ = false;
  unsigned permits_ = 0;
  std::uint64_t appending_ = 0;
};

class DecidedAheadTest : public ControlTest {
 protected:
  std::unique_ptr<db::Journal> wrap(std::unique_ptr<db::Journal> journal) override {
    auto gated = std::make_unique<GatedJournal>(std::move(journal));
    gate_ = gated.get();
    return gated;
  }
  std::future<CommandResult> submit(decltype(Command::body) body) {
    auto answer = std::make_shared<std::promise<CommandResult>>();
    auto future = answer->get_future();
    EXPECT_TRUE(loop_->submit({"tester", std::move(body)}, [this, answer, number = ++submitted_](CommandResult result) {
      answered_.push_back(number);
      answer->set_value(std::move(result));
    }));
    return future;
  }
  // One append that holds the loop, then two commands that it takes together: their append is the writer's.
  void hold_writer(std::vector<std::future<CommandResult>>& answers) {
    gate_->close();
    answers.push_back(submit(PutTenant{{.name = "alone"}, {}}));
    gate_->wait_for_append();
    answers.push_back(submit(PutTenant{{.name = "left"}, {}}));
    answers.push_back(submit(PutTenant{{.name = "right"}, {}}));
    gate_->let_one();
    ASSERT_NE(gate_->wait_for_append(), 0U);
  }

  // The loop has taken all that was submitted, although an append waits.
  void wait_until_taken() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (loop_->figures().queued != 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    ASSERT_EQ(loop_->figures().queued, 0U);
  }

  GatedJournal* gate_ = nullptr;
  int submitted_ = 0;
  std::vector<int> answered_;
};

TEST_F(DecidedAheadTest, AnswersComeInOrderAndOnlyOnceTheirOwnEventsAreDurable) {
  start();
  std::vector<std::future<CommandResult>> answers;
  hold_writer(answers);
  const std::uint64_t durable = *journal_->last_seq();
  answers.push_back(submit(PutTenant{{.name = "later"}, {}}));
  answers.push_back(submit(PutTenant{{.name = "left", .description = "again"}, {}}));
  // Decided while the append waits, and neither seen nor answered.
  wait_until_taken();
  EXPECT_EQ(answers.back().wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  EXPECT_FALSE(loop_->state()->tenants->contains("later"));
  EXPECT_EQ(*journal_->last_seq(), durable);
  gate_->open();
  for (auto& answer : answers) {
    const auto result = answer.get();
    ASSERT_TRUE(result) << result.error().error.text();
    EXPECT_LE(result->state->seq, *journal_->last_seq()) << "acknowledged before it was durable";
  }
  EXPECT_TRUE(std::ranges::is_sorted(answered_));
  EXPECT_EQ(loop_->state()->tenants->at("left").description, "again");
  EXPECT_EQ(codec_.encode_state(replayed()), state_text());
}

TEST_F(DecidedAheadTest, WhatWasDecidedOnAnAppendThatFailedFailsWithIt) {
  start();
  std::vector<std::future<CommandResult>> answers;
  hold_writer(answers);
  answers.push_back(submit(PutTenant{{.name = "later"}, {}}));
  // It is not there yet for any reader, but this decision has seen it: it would be refused otherwise.
  answers.push_back(submit(RemoveTenant{"left", {}}));
  wait_until_taken();
  gate_->open(true);
  EXPECT_TRUE(answers[0].get()) << "durable before";
  for (std::size_t i = 1; i < answers.size(); ++i) {
    const auto result = answers[i].get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().error.code, "service.storeFailed");
  }
  EXPECT_FALSE(loop_->state()->tenants->contains("left"));
  must(PutTenant{{.name = "after"}, {}});
  EXPECT_EQ(loop_->phase(), Phase::ready);
  EXPECT_EQ(codec_.encode_state(replayed()), state_text());
}

// Many clients, appends that fail at random: what was acknowledged is in the journal, what was refused for the store is not.
TEST_F(DecidedAheadTest, NothingAcknowledgedIsLostWhateverFails) {
  start();
  must(accept(star_of_hosts(64, 8)));
  must(PutTenant{{.name = "t"}, {}});
  std::atomic<bool> halt = false;
  std::vector<std::set<JobId>> placed(8);
  std::vector<std::thread> clients;
  for (unsigned c = 0; c < placed.size(); ++c) {
    clients.emplace_back([&, c] {
      for (int n = 0; !halt; ++n) {
        std::promise<CommandResult> answer;
        auto future = answer.get_future();
        SubmitJob command = submit_job("t", 1, 1, std::to_string(c) + "-" + std::to_string(n));
        if (!loop_->submit({"tester", std::move(command)},
                           [&](CommandResult result) { answer.set_value(std::move(result)); })) {
          continue;
        }
        if (const auto result = future.get()) placed[c].insert(result->job);
      }
    });
  }
  std::minstd_rand random(3);
  for (int round = 0; round < 200; ++round) {
    std::this_thread::yield();
    if (random() % 4 == 0) gate_->fail_next();
    const std::uint64_t seq = *journal_->last_seq();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (*journal_->last_seq() < seq + 2 && std::chrono::steady_clock::now() < deadline &&
           loop_->state()->free_gpus > 0) {
      std::this_thread::yield();
    }
  }
  halt = true;
  for (auto& client : clients) client.join();
  const ClusterState again = replayed();
  std::size_t acknowledged = 0;
  for (const auto& jobs : placed) {
    for (const JobId job : jobs) EXPECT_NE(again.jobs.find(job), nullptr) << to_string(job);
    acknowledged += jobs.size();
  }
  EXPECT_GT(acknowledged, 50U);
  EXPECT_GT(loop_->figures().store_errors, 5U);
  EXPECT_EQ(codec_.encode_state(again), state_text());
}

}  // namespace
}  // namespace railweave::control::decided_ahead_test
