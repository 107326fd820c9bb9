// Conformance: reporting tables, for people's SQL.
#include <limits>

#include "tests/unit/db/journal_conformance.h"

namespace railweave::db {
namespace {

using JournalReport = JournalConformance;
RAILWEAVE_CONFORMANCE_OF_EVERY_STORE(JournalReport);

using Rows = std::vector<std::vector<Value>>;
constexpr auto number = [](std::int64_t value) { return Value(value); };

TEST_P(JournalReport, ARowIsInsertedThenChangedColumnByColumn) {
  const std::string select = "SELECT id, tenant, gpus, submitted_at_us, placed_at_us, reason FROM job_history";
  Batch batch = sample_batch(1, 1);
  batch.reports = {
      {"job_history", {{"id", "job-1"}, {"tenant", "physics"}, {"gpus", number(64)}, {"submitted_at_us", number(5)}}}};
  take(journal_->append(batch));
  EXPECT_EQ(store_->select(select), (Rows{{"job-1", "physics", number(64), number(5), Value(), ""}}));

  batch = sample_batch(2, 1);
  batch.reports = {
      {"job_history", {{"placed_at_us", number(9)}, {"id", "job-1"}}},
      {"job_history", {{"id", "job-1"}, {"reason", "it's \"done\"; DROP TABLE journal"}, {"submitted_at_us", {}}}},
      {"job_history", {{"id", "job-2"}}},
      {"job_history", {{"id", "job-2"}}}};
  take(journal_->append(batch));
  reopen();
  EXPECT_EQ(store_->select(select + " ORDER BY id"),
            (Rows{{"job-1", "physics", number(64), Value(), number(9), "it's \"done\"; DROP TABLE journal"},
                  {"job-2", "", number(0), Value(), Value(), ""}}));
}

TEST_P(JournalReport, RowsMayBeWrittenWithoutRecords) {
  take(journal_->append({{}, {}, {{"fabric_incidents", {{"id", "i-1"}, {"severity", "major"}}}}}));
  EXPECT_EQ(store_->select("SELECT severity FROM fabric_incidents"), (Rows{{"major"}}));
  EXPECT_EQ(last(), 0U);
}

TEST_P(JournalReport, EveryTableOfTheArchitectureIsThere) {
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  take(journal_->append({{},
                         {},
                         {{"job_history",
                           {{"id", "job-1"},
                            {"tenant", "t"},
                            {"name", "n"},
                            {"state", "running"},
                            {"gpus", number(8)},
                            {"nodes", number(1)},
                            {"node_names", "node-1"},
                            {"submitted_at_us", number(1)},
                            {"placed_at_us", number(2)},
                            {"ended_at_us", number(largest)},
                            {"reason", "r"}}},
                          {"fabric_incidents",
                           {{"id", "1"},
                            {"time_us", number(-1)},
                            {"kind", "link.down"},
                            {"severity", "minor"},
                            {"subject", "link 3"},
                            {"summary", "s"}}},
                          {"audit_trail",
                           {{"seq", number(largest)},
                            {"time_us", number(0)},
                            {"actor", "a"},
                            {"kind", "k"},
                            {"subject", "s"},
                            {"summary", "ü"}}}}}));
  EXPECT_EQ(store_->select("SELECT ended_at_us FROM job_history"), (Rows{{number(largest)}}));
  EXPECT_EQ(store_->select("SELECT time_us FROM fabric_incidents"), (Rows{{number(-1)}}));
  EXPECT_EQ(store_->select("SELECT seq, summary FROM audit_trail"), (Rows{{number(largest), "ü"}}));
}

}  // namespace
}  // namespace railweave::db
