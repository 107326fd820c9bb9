// A key makes one job, however often and after whatever its owner asks again; the keys of a tenant are bounded.
#include <set>
#include <string>
#include <vector>

#include "tests/unit/control/control_fixture.h"

namespace railweave::control::idempotency_test {
namespace {

TEST_F(ControlTest, TheSameIdempotencyKeyCreatesOneJob) {
  start();
  must(accept(star_of_hosts(2, 8)));
  must(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
  const auto first = ask(submit_job("t", 8, 1, "key-1"));
  const auto again = ask(submit_job("t", 8, 1, "key-1"));
  ASSERT_TRUE(first && again);
  EXPECT_FALSE(first->replayed);
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(first->job, again->job);
  EXPECT_EQ(loop_->state()->jobs.size(), 1U);
  const auto other = ask(submit_job("t", 4, 1, "key-1"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().error.code, "idempotency.keyReused");
  stop();
  start();
  const auto after_restart = ask(submit_job("t", 8, 1, "key-1"));
  ASSERT_TRUE(after_restart);
  EXPECT_EQ(after_restart->job, first->job);
}

// More jobs end after it than the state keeps: its key is known for a day all the same, also after restarts.
TEST_F(ControlTest, AnIdempotencyKeyIsKnownForADayWhenItsJobIsNotKept) {
  start();
  must(accept(star_of_hosts(1, 8)));
  must(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
  const auto first = ask(submit_job("t", 8, 1, "key-1"));
  ASSERT_TRUE(first);
  must(EndJob{first->job, JobState::completed, "", {}});
  // In the queue together, so that many share a transaction.
  std::atomic<std::size_t> ended = 0;
  for (std::size_t i = 1; i <= ClusterState::kMaxEndedJobs; ++i) {
    const auto send = [&](const decltype(Command::body)& body) {
      while (!loop_->submit({"tester", body}, [&](const CommandResult& result) { ended += result ? 1 : 0; })) {
        std::this_thread::yield();
      }
    };
    send(submit_job("t", 1, 1));
    send(EndJob{JobId(first->job.number() + i), JobState::completed, "", {}});
  }
  ASSERT_TRUE(published_until([&] { return ended == 2 * ClusterState::kMaxEndedJobs; }));
  ASSERT_EQ(loop_->state()->jobs.find(first->job), nullptr);
  const auto refused = [&](const char* code, std::uint32_t data) {
    const auto again = ask(submit_job("t", 8, data, "key-1"));
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().error.code, code);
    EXPECT_NE(again.error().error.message.find(to_string(first->job)), std::string::npos);
  };
  for (const char* from : {"this run", "the snapshot"}) {
    SCOPED_TRACE(from);
    refused("idempotency.jobEnded", 1);
    refused("idempotency.keyReused", 2);
    EXPECT_EQ(loop_->state()->free_gpus, 8U);
    const std::string text = state_text();
    stop();
    start();
    EXPECT_TRUE(state_text() == text);
    EXPECT_TRUE(codec_.encode_state(replayed()) == text) << "the journal alone gives the same";
  }
  clock_us_ += IdempotencyTable::kKept_us;
  const auto new_job = ask(submit_job("t", 8, 1, "key-1"));
  ASSERT_TRUE(new_job) << new_job.error().error.text();
  EXPECT_FALSE(new_job->replayed);
}

TEST_F(ControlTest, AnIdempotencyKeyIsItsOwnersAlsoAfterARestart) {
  start();
  must(accept(star_of_hosts(2, 8)));
  for (const char* tenant : {"a", "z"}) must(PutTenant{{.name = tenant, .description = {}, .max_gpus = {}}, {}});
  const auto of = [](const std::string& tenant, const std::string& owner) {
    SubmitJob command = submit_job(tenant, 1, 1, "key");
    command.request_digest = "same";
    command.key_owner = owner;
    command.by_member = true;
    return command;
  };
  const std::vector<SubmitJob> owners{of("a", "a/bot"), of("z", "z/bot"), of("a", "a/other")};
  std::vector<JobId> made;
  for (const SubmitJob& command : owners) {
    const auto job = ask(command);
    ASSERT_TRUE(job);
    EXPECT_FALSE(job->replayed);
    EXPECT_EQ(loop_->state()->jobs.find(job->job)->spec.tenant, command.spec.tenant);
    made.push_back(job->job);
  }
  for (const bool restarted : {false, true}) {
    if (restarted) {
      stop();
      start();
    }
    for (std::size_t i = 0; i < owners.size(); ++i) {
      const auto again = ask(owners[i]);
      ASSERT_TRUE(again);
      EXPECT_TRUE(again->replayed);
      EXPECT_EQ(again->job, made[i]);
    }
  }
}

// As journals have them that were written before keys had owners.
TEST_F(ControlTest, AKeyWithoutAnOwnerIsOfTheTenantWhoseJobItMade) {
  start();
  must(accept(star_of_hosts(2, 8)));
  for (const char* tenant : {"a", "z"}) must(PutTenant{{.name = tenant, .description = {}, .max_gpus = {}}, {}});
  SubmitJob command = submit_job("a", 1, 1, "key");
  const auto before = ask(command);
  ASSERT_TRUE(before);
  command.key_owner = "a/bot";
  command.by_member = true;
  const auto repeated = ask(command);
  ASSERT_TRUE(repeated);
  EXPECT_EQ(repeated->job, before->job);
  command.key_owner = "z/bot";
  command.spec.tenant = "z";
  const auto other = ask(command);
  ASSERT_TRUE(other);
  EXPECT_NE(other->job, before->job);
}

// Many of one tenant's members: another's, an operator's and what the service does itself are taken all the same.
// Keys of one shard, the first of which is 0: all shards would take a while.
std::vector<std::string> keys_of_a_shard(std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; keys.size() < count; ++i) {
    std::string key = std::to_string(i);
    if (IdempotencyTable::shard_of(key) == IdempotencyTable::shard_of("0")) keys.push_back(std::move(key));
  }
  return keys;
}

TEST(IdempotencyTable, IsBoundedForEachTenantAndForgetsWhatIsOver) {
  for (const auto& [owner, most] :
       {std::pair{"a/bot", IdempotencyTable::kMaxOfTenant}, std::pair{"/admin", IdempotencyTable::kMaxOfNoTenant},
        std::pair{"", IdempotencyTable::kMaxOfNoTenant}}) {
    SCOPED_TRACE(owner);
    IdempotencyTable keys;
    const auto names = keys_of_a_shard(most + 1);
    for (std::size_t i = 0; i < most; ++i) {
      const OwnedKey key{owner, names[i]};
      ASSERT_TRUE(keys.has_room(key, 1));
      keys.put(key, {JobId(i + 1), 1, ""});
      keys.drop_job(key, 1);
    }
    const OwnedKey first{owner, names.front()}, next{owner, names.back()};
    EXPECT_FALSE(keys.has_room(next, 1));
    EXPECT_TRUE(keys.has_room({"z/bot", names.back()}, 1)) << "another tenant has room of its own";
    EXPECT_EQ(keys.find({"z/bot", names.front()}, 1), nullptr);
    for (std::size_t i = 0; i < most; ++i) {
      EXPECT_NE(keys.find({owner, names[i]}, IdempotencyTable::kKept_us), nullptr);
      EXPECT_EQ(keys.find({owner, names[i]}, IdempotencyTable::kKept_us + 1), nullptr);
    }
    const std::int64_t later_us = 1 + IdempotencyTable::kKept_us;
    ASSERT_TRUE(keys.has_room(first, later_us));
    keys.put(first, {JobId(1), later_us, ""});
    EXPECT_NE(keys.find(first, later_us), nullptr);
    EXPECT_TRUE(keys.has_room(next, 1)) << "what was over is gone";
  }
}

}  // namespace
}  // namespace railweave::control::idempotency_test
