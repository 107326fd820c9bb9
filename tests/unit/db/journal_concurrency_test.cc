// Conformance: readers beside a writer see whole batches, in order, and nothing that was not written.
#include <atomic>
#include <thread>

#include "tests/unit/db/journal_conformance.h"

namespace railweave::db::journal_concurrency_test {
namespace {

using JournalConcurrency = JournalConformance;
RAILWEAVE_CONFORMANCE_OF_EVERY_STORE(JournalConcurrency);

TEST_P(JournalConcurrency, ReadersSeeWholeBatchesOfWhatWasWritten) {
  constexpr std::uint64_t kBatch = 7;
  constexpr std::uint64_t kBatches = 150;
  std::atomic<std::uint64_t> acknowledged{0};
  std::atomic<bool> done{false};
  const auto reader = [&](std::uint64_t start) {
    std::uint64_t after = start;
    std::uint64_t reads = 0;
    while (!done || reads < 5) {
      const std::uint64_t known = acknowledged;
      ReadFilter filter;
      filter.after_seq = after;
      filter.limit = 100'000;
      const auto records = take(journal_->read(filter));
      const std::uint64_t end = records.empty() ? after : records.back().seq;
      EXPECT_GE(end, std::max(known, after)) << "an acknowledged record is not seen";
      EXPECT_EQ(end % kBatch, 0U) << "part of a batch is seen";
      EXPECT_EQ(records, sample_batch(after + 1, end - after).records);
      EXPECT_GE(take(journal_->last_seq()), end);
      if (const auto snapshot = take(journal_->latest_snapshot())) {
        EXPECT_EQ(snapshot->payload, std::to_string(snapshot->seq));
      }
      if (take(journal_->blob(sample_digest(known))) !=
          (known == 0 ? std::nullopt : std::optional(std::to_string(known)))) {
        ADD_FAILURE() << "blob of batch " << known;
      }
      if (++reads % 3 == 0) after = end;
    }
  };
  std::vector<std::jthread> readers;
  for (int i = 0; i < 3; ++i) readers.emplace_back(reader, 0);
  for (std::uint64_t i = 0; i < kBatches; ++i) {
    Batch batch = sample_batch(i * kBatch + 1, kBatch);
    const std::uint64_t last = (i + 1) * kBatch;
    batch.blobs.push_back({sample_digest(last), std::to_string(last)});
    take(journal_->append(batch));
    acknowledged = last;
    if (i % 10 == 9) take(journal_->save_snapshot({last, 1, 0, 1, std::to_string(last)}));
  }
  done = true;
  readers.clear();
  EXPECT_EQ(all(), sample_batch(1, kBatch * kBatches).records);
}

TEST_P(JournalConcurrency, OfManyWritersOfTheSameSeqOneWins) {
  constexpr std::uint64_t kRounds = 40;
  std::atomic<std::uint64_t> won{0};
  const auto writer = [&](const std::string& actor) {
    for (std::uint64_t seq = 1; seq <= kRounds; ++seq) {
      while (take(journal_->last_seq()) + 1 < seq) std::this_thread::yield();
      Batch batch = sample_batch(seq, 1);
      batch.records[0].actor = actor;
      const auto appended = journal_->append(batch);
      if (appended) ++won;
      if (!appended) {
        EXPECT_EQ(appended.error().code, "db.gap") << appended.error().text();
      }
    }
  };
  std::vector<std::jthread> writers;
  for (int i = 0; i < 4; ++i) writers.emplace_back(writer, std::to_string(i));
  writers.clear();
  EXPECT_EQ(won, kRounds);
  EXPECT_EQ(all().size(), kRounds);
}

}  // namespace
}  // namespace railweave::db::journal_concurrency_test
