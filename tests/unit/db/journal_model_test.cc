// Conformance: random calls, right and wrong ones, against a model that keeps everything in memory.
#include <map>
#include <random>

#include "tests/support/seeds.h"
#include "tests/unit/db/journal_conformance.h"

namespace railweave::db::journal_model_test {
namespace {

struct Model {
  std::vector<Record> records;
  std::map<std::string, std::string> blobs;
  std::map<std::string, std::string> tenants;  // job_history: id -> tenant
  std::vector<Snapshot> snapshots;

  [[nodiscard]] std::uint64_t last() const { return records.empty() ? 0 : records.back().seq; }
  [[nodiscard]] std::uint64_t term() const { return records.empty() ? 0 : records.back().term; }
};

using JournalModel = JournalConformance;
RAILWEAVE_CONFORMANCE_OF_EVERY_STORE(JournalModel);

class Walk {
 public:
  Walk(std::uint64_t seed, Model& model) : random_(seed), model_(model) {}
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  // A batch, and the code it must be answered with.
  std::pair<Batch, std::string> batch() {
    Batch batch = sample_batch(model_.last() + 1, below(5), model_.term() + below(2));
    std::string code;
    for (Record& record : batch.records) record.payload = random_text(below(20) == 0 ? 300'000 : below(200), random_());
    for (std::uint64_t n = below(3); n > 0; --n)
      batch.blobs.push_back({sample_digest(below(20)), "same for each digest"});
    for (std::uint64_t n = below(3); n > 0; --n) {
      batch.reports.push_back(
          {"job_history", {{"id", std::to_string(below(5))}, {"tenant", std::to_string(random_())}}});
    }
    if (below(4) != 0) return {batch, code};
    switch (below(4)) {
      case 0:
        if (!batch.records.empty()) batch.records.back().seq += 1 + below(3), code = "db.gap";
        break;
      case 1:
        if (!batch.records.empty() && model_.term() > 0) {
          for (Record& record : batch.records) record.term = model_.term() - 1;
          code = "db.termBehind";
        }
        break;
      case 2:
        batch.reports.push_back({"job_history", {{"id", std::to_string(below(5))}, {"gpus", "many"}}});
        code = "db.invalid";
        break;
      default:
        if (!model_.blobs.empty()) {
          batch.blobs.push_back({model_.blobs.begin()->first, "other bytes"});
          code = "db.blobDiffers";
        }
    }
    return {batch, code};
  }

  void apply(const Batch& batch) {
    model_.records.insert(model_.records.end(), batch.records.begin(), batch.records.end());
    for (const Blob& blob : batch.blobs) model_.blobs[blob.digest] = blob.bytes;
    for (const ReportRow& row : batch.reports) {
      model_.tenants[std::get<std::string>(row.columns[0].second)] = std::get<std::string>(row.columns[1].second);
    }
  }

 private:
  std::mt19937_64 random_;
  Model& model_;
};

TEST_P(JournalModel, RandomCallsAgreeWithAModelInMemory) {
  for (std::uint64_t seed = 1; seed <= part_of_seeds(6); ++seed) {
    SCOPED_TRACE(seed);
    store_ = GetParam().make();
    reopen();
    Model model;
    Walk walk(seed, model);
    for (int step = 0; step < 250; ++step) {
      switch (walk.below(8)) {
        case 0:
          reopen();
          break;
        case 1: {
          const Snapshot snapshot{walk.below(model.last() + 3), 1, step, 1, std::to_string(step)};
          const bool ahead = snapshot.seq > model.last();
          const bool behind = !model.snapshots.empty() && snapshot.seq < model.snapshots.back().seq;
          ASSERT_EQ(code_of(journal_->save_snapshot(snapshot)), ahead    ? "db.snapshotAhead"
                                                                : behind ? "db.snapshotBehind"
                                                                         : "");
          if (!ahead && !behind) model.snapshots.push_back(snapshot);
          break;
        }
        default: {
          const auto [batch, code] = walk.batch();
          ASSERT_EQ(code_of(journal_->append(batch)), code);
          if (code.empty()) walk.apply(batch);
        }
      }
      ASSERT_EQ(last(), model.last());
      const auto snapshot = take(journal_->latest_snapshot());
      ASSERT_EQ(snapshot, model.snapshots.empty() ? std::nullopt : std::optional(model.snapshots.back()));
      if (step % 25 != 24) continue;
      ASSERT_TRUE(all() == model.records);
      for (std::uint64_t digest = 0; digest < 20; ++digest) {
        const auto found = model.blobs.find(sample_digest(digest));
        ASSERT_EQ(take(journal_->blob(sample_digest(digest))),
                  found == model.blobs.end() ? std::nullopt : std::optional(found->second));
      }
      std::map<std::string, std::string> tenants;
      for (const auto& row : store_->select("SELECT id, tenant FROM job_history")) {
        tenants[std::get<std::string>(row[0])] = std::get<std::string>(row[1]);
      }
      ASSERT_EQ(tenants, model.tenants);
    }
  }
}

}  // namespace
}  // namespace railweave::db::journal_model_test
