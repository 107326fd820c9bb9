// Two writers, lost sessions and commits in doubt: nothing acknowledged is lost, nothing is stored twice, and a writer whose
// lease another took stores nothing more.
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "db/postgres/postgres_journal.h"
#include "tests/unit/db/results.h"
#include "tests/unit/db/sample_records.h"
#include "tests/unit/postgres/cutting_proxy.h"
#include "tests/unit/postgres/test_database.h"

namespace railweave::db::postgres_fence_test {
namespace {

using namespace std::chrono_literals;

PostgresOptions options_of(const std::string& holder) {
  PostgresOptions options;
  options.holder = holder;
  options.lease = 600ms;
  options.lease_patience = 5s;
  options.patience = 2s;
  options.doubt_patience = 5s;
  return options;
}

std::vector<Record> stored_in(const TestDatabase& database) {
  const auto journal = take(open_postgres_journal(database.url(), options_of("reader")));
  ReadFilter filter;
  filter.limit = 100'000;
  return take(journal->read(filter));
}

void steal_lease(const TestDatabase& database) {
  database.run("UPDATE lease SET holder = 'another', term = term + 1, expires = clock_timestamp() + interval '1 hour'");
}

TEST(PostgresFence, AWriterKeepsOthersOutUntilItIsGone) {
  const TestDatabase database;
  auto first = take(open_postgres_journal(database.url(), options_of("first")));
  PostgresOptions impatient = options_of("second");
  impatient.lease_patience = 1500ms;  // two and a half times the lease: it is renewed
  const auto refused = open_postgres_journal(database.url(), impatient);
  ASSERT_EQ(code_of(refused), "db.locked");
  EXPECT_NE(refused.error().text().find("first"), std::string::npos) << refused.error().text();
  take(first->append(sample_batch(1, 3)));
  first.reset();
  impatient.lease_patience = 0ms;  // it was given back
  const auto second = take(open_postgres_journal(database.url(), impatient));
  take(second->append(sample_batch(4, 1)));
}

TEST(PostgresFence, AFollowerWhoseTakeOverFailsGivesTheLeaseBack) {
  const TestDatabase database;
  const auto first = take(open_shared_postgres_journal(database.url(), options_of("first")));
  const auto second = take(open_shared_postgres_journal(database.url(), options_of("second")));
  database.run("ALTER TABLE journal RENAME TO away");
  EXPECT_FALSE(first->try_lead()) << "it cannot read where the journal ends";
  EXPECT_FALSE(first->leads());
  database.run("ALTER TABLE away RENAME TO journal");
  EXPECT_TRUE(take(second->wait_for_news(10ms))) << "none leads";
  ASSERT_TRUE(take(second->try_lead()));
  take(second->append(sample_batch(1, 2)));
  EXPECT_FALSE(take(first->try_lead())) << "another leads";
  EXPECT_EQ(code_of(first->append(sample_batch(3, 1))), "db.notLeader");
  EXPECT_EQ(take(first->read({})).size(), 2U) << "it follows";
}

TEST(PostgresFence, AWriterThatLostTheLeaseStoresNothing) {
  const TestDatabase database;
  const auto journal = take(open_postgres_journal(database.url(), options_of("first")));
  take(journal->append(sample_batch(1, 2)));
  steal_lease(database);
  Batch batch = sample_batch(3, 1);
  batch.blobs.push_back({sample_digest(1), "a document"});
  batch.reports.push_back({"job_history", {{"id", "job-1"}}});
  EXPECT_EQ(code_of(journal->append(batch)), "db.deposed");
  EXPECT_EQ(code_of(journal->append(sample_batch(3, 1))), "db.deposed");
  EXPECT_EQ(code_of(journal->save_snapshot({2, 1, 0, 1, "{}"})), "db.deposed");
  EXPECT_EQ(take(journal->read({})).size(), 2U) << "reading goes on";
  EXPECT_TRUE(database.run("SELECT 1 FROM job_history").empty());
  EXPECT_TRUE(database.run("SELECT 1 FROM blobs").empty());
  EXPECT_TRUE(database.run("SELECT 1 FROM snapshots").empty());
}

TEST(PostgresFence, ASnapshotOfADeposedWriterIsNotStored) {
  const TestDatabase database;
  const auto journal = take(open_postgres_journal(database.url(), options_of("first")));
  take(journal->append(sample_batch(1, 2)));
  steal_lease(database);
  EXPECT_EQ(code_of(journal->save_snapshot({2, 1, 0, 1, "{}"})), "db.deposed");
  EXPECT_TRUE(database.run("SELECT 1 FROM snapshots").empty());
}

TEST(PostgresFence, ALeaseThatExpiredWithoutASuccessorGoesOn) {
  const TestDatabase database;
  PostgresOptions options = options_of("first");
  options.lease = 1h;  // the thread does not renew it meanwhile
  const auto journal = take(open_postgres_journal(database.url(), options));
  database.run("UPDATE lease SET expires = clock_timestamp() - interval '1 hour'");
  take(journal->append(sample_batch(1, 2)));
  database.run("UPDATE lease SET expires = clock_timestamp() - interval '1 hour'");
  take(journal->save_snapshot({2, 1, 0, 1, "{}"}));
}

TEST(PostgresFence, ATakeOverWaitsForTheAppendUnderWayAndThenDeposes) {
  const TestDatabase database;
  const auto journal = take(open_postgres_journal(database.url(), options_of("first")));
  // An append that has passed the check of the lease and has not committed.
  pqxx::connection append(database.url());
  pqxx::work work(append);
  work.exec("SELECT 1 FROM lease WHERE id = 1 FOR SHARE");
  std::jthread thief([&] { steal_lease(database); });
  while (
      database
          .run(
              "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE lease SET holder%'")
          .empty()) {
    std::this_thread::yield();
  }
  work.commit();
  thief.join();
  EXPECT_EQ(code_of(journal->append(sample_batch(1, 1))), "db.deposed");
}

// As on a primary that was failed over from and started again: it is writable, has the lease as it was, and lacks records.
TEST(PostgresFence, AServerThatLacksTheLastRecordIsNotContinued) {
  const TestDatabase database;
  const auto journal = take(open_postgres_journal(database.url(), options_of("first")));
  take(journal->append(sample_batch(1, 2)));
  take(journal->append(sample_batch(3, 1)));
  database.run("ALTER TABLE journal DISABLE TRIGGER ALL");
  database.run("DELETE FROM journal WHERE seq = 3");
  database.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'railweaved' AND datname = '" +
      database.name() + "'");
  auto appended = journal->append(sample_batch(4, 1));
  if (!appended && appended.error().code == "db.connectionLost") appended = journal->append(sample_batch(4, 1));
  EXPECT_EQ(code_of(appended), "db.deposed");
  EXPECT_EQ(database.run("SELECT 1 FROM journal").size(), 2U);
}

TEST(PostgresFence, AnEndedSessionIsReplacedAndNothingIsLost) {
  const TestDatabase database;
  const auto journal = take(open_postgres_journal(database.url(), options_of("first")));
  for (std::uint64_t seq = 1; seq <= 20; ++seq) {
    if (seq % 3 == 0) {
      database.run(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'railweaved' AND datname = "
          "'" +
          database.name() + "'");
    }
    const auto appended = journal->append(sample_batch(seq, 1));
    if (!appended) {
      ASSERT_EQ(appended.error().code, "db.connectionLost") << appended.error().text();
      take(journal->append(sample_batch(seq, 1)));
    }
    ASSERT_EQ(take(journal->read({})).size(), seq);
  }
}

// The proxy cuts the connection when the append passes it, before or after the server has it, some bytes of the answer or
// none: the journal must say exactly what is stored.
class CommitInDoubt : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, CommitInDoubt, ::testing::Range(1, 9));

TEST_P(CommitInDoubt, IsResolvedExactly) {
  const TestDatabase database;
  CuttingProxy proxy(database.url());
  auto journal = take(open_postgres_journal(proxy.url(), options_of("first")));
  std::uint64_t stored = 0;
  int cuts = 0;
  for (int round = 0; round < 12; ++round) {
    const std::size_t size = 1 + static_cast<std::size_t>(round) * 7;
    Batch batch = sample_batch(stored + 1, size);
    if (round % 4 == 3) batch.blobs.push_back({sample_digest(stored + 1), "document " + std::to_string(stored)});
    proxy.cut_after(static_cast<std::size_t>((GetParam() * 7919 + round * 104729) % 3000), round % 2 == 0);
    const auto appended = journal->append(batch);
    cuts += proxy.pass();
    if (appended) {
      stored += size;
    } else {
      EXPECT_EQ(appended.error().code, "db.connectionLost") << appended.error().text();
    }
    ASSERT_EQ(take(journal->read({.limit = 100'000})).size(), stored) << "round " << round;
  }
  EXPECT_GT(cuts, 3) << "the proxy hardly cut";
  journal.reset();
  EXPECT_EQ(stored_in(database).size(), stored);
}

TEST(PostgresFence, ALostSessionCannotCommitAfterItsBatchWasRefused) {
  const TestDatabase database;
  CuttingProxy proxy(database.url());
  PostgresOptions options = options_of("first");
  options.lease = 1h;
  options.patience = 20s;
  const auto journal = take(open_postgres_journal(proxy.url(), options));
  // The server has the append and waits for a lock; meanwhile the connection is lost, which it does not notice.
  pqxx::connection connection(database.url());
  pqxx::work lock(connection);
  lock.exec("SELECT 1 FROM lease FOR UPDATE");
  std::jthread cutter([&] {
    while (database.run("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'WITH held%'")
               .empty()) {
      std::this_thread::yield();
    }
    proxy.cut();
  });
  const auto refused = journal->append(sample_batch(1, 1));
  cutter.join();
  ASSERT_EQ(code_of(refused), "db.connectionLost");
  lock.commit();
  Batch other = sample_batch(1, 1);
  other.records[0].actor = "another";
  take(journal->append(other));
  EXPECT_EQ(take(journal->read({})), other.records);
}

TEST(PostgresFence, AServerThatDoesNotAnswerIsGivenUpInTime) {
  const TestDatabase database;
  CuttingProxy proxy(database.url());
  PostgresOptions options = options_of("first");
  options.patience = 1s;
  options.doubt_patience = 2s;
  const auto journal = take(open_postgres_journal(proxy.url(), options));
  take(journal->append(sample_batch(1, 1)));
  proxy.stall();
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of(journal->append(sample_batch(2, 1))), "db.inDoubt");
  EXPECT_LT(std::chrono::steady_clock::now() - before, 30s);
  EXPECT_FALSE(journal->read({})) << "what is stored is not known, so nothing is claimed";
  proxy.pass();
  // Known once the server answers: not stored, or stored.
  const auto records = take(journal->read({}));
  take(journal->append(sample_batch(records.size() + 1, 1)));
}

}  // namespace
}  // namespace railweave::db::postgres_fence_test
