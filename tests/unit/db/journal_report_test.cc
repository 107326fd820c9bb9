// Conformance: reporting tables, for people's SQL.
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/db/journal_conformance.h"

namespace railweave::db::journal_report_test {
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

Batch audit_rows() {
  Batch batch = sample_batch(1, 1);
  for (std::int64_t seq = 1; seq <= 20; ++seq) {
    batch.reports.push_back({"audit_trail",
                             {{"seq", number(seq * 2)},
                              {"time_us", number(1000 - seq)},
                              {"actor", seq % 3 == 0 ? "al'ice" : "bob"},
                              {"kind", seq % 2 == 0 ? "token.issued" : "tenant.put"},
                              {"request_id", "r-" + std::to_string(seq)}}});
  }
  return batch;
}

std::vector<std::int64_t> keys(const std::vector<ReportRow>& rows) {
  std::vector<std::int64_t> found;
  for (const auto& row : rows) {
    for (const auto& [name, value] : row.columns) {
      if (name == "seq") found.push_back(std::get<std::int64_t>(value));
    }
  }
  return found;
}

TEST_P(JournalReport, RowsAreReadByKeyAndByWhatTheyHold) {
  take(journal_->append(audit_rows()));
  const auto read = [&](ReportFilter filter) {
    filter.table = "audit_trail";
    return keys(take(journal_->read_report(filter)));
  };
  EXPECT_EQ(read({.limit = 3}), (std::vector<std::int64_t>{2, 4, 6}));
  EXPECT_EQ(read({.after = 4, .limit = 2}), (std::vector<std::int64_t>{6, 8}));
  EXPECT_EQ(read({.equal = {{"actor", "al'ice"}}}), (std::vector<std::int64_t>{6, 12, 18, 24, 30, 36}));
  EXPECT_EQ(read({.equal = {{"actor", "al'ice"}, {"kind", "token.issued"}}}), (std::vector<std::int64_t>{12, 24, 36}));
  EXPECT_EQ(read({.after = 12, .equal = {{"kind", "tenant.put"}}, .at_least = {{"time_us", 990}}}),
            (std::vector<std::int64_t>{14, 18}));
  EXPECT_TRUE(read({.equal = {{"actor", std::string("a\0b", 3)}}}).empty());
  EXPECT_TRUE(read({.after = std::numeric_limits<std::int64_t>::max()}).empty());
  const auto row = take(journal_->read_report({.table = "audit_trail", .limit = 1})).at(0);
  const std::map<std::string, Value> columns(row.columns.begin(), row.columns.end());
  EXPECT_EQ(columns.at("request_id"), Value("r-1"));
  EXPECT_EQ(columns.at("summary"), Value(""));
  EXPECT_EQ(columns.at("time_us"), number(999));
}

TEST_P(JournalReport, FiltersThatMakeNoSenseAreRefused) {
  const auto code = [&](const ReportFilter& filter) { return code_of(journal_->read_report(filter)); };
  EXPECT_EQ(code({.table = "journal"}), "db.unknownTable");
  EXPECT_EQ(code({.table = "job_history"}), "db.invalid") << "its key is text";
  EXPECT_EQ(code({.table = "audit_trail", .limit = 0}), "db.invalid");
  EXPECT_EQ(code({.table = "audit_trail", .equal = {{"time_us", "x"}}}), "db.invalid");
  EXPECT_EQ(code({.table = "audit_trail", .equal = {{"actor\" OR 1=1 --", "x"}}}), "db.invalid");
  EXPECT_EQ(code({.table = "audit_trail", .at_least = {{"actor", 1}}}), "db.invalid");
}

// The queries of the page for people.
std::vector<std::string> queries_of_the_page() {
  std::ifstream file(std::string(RAILWEAVE_SOURCE_DIR) + "/db/REPORTING.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> queries;
  const std::string begin = "```sql\n";
  for (auto at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    queries.push_back(page.substr(at, page.find("```", at) - at));
  }
  return queries;
}

TEST_P(JournalReport, TheQueriesOfThePageAreAnswered) {
  Batch batch = sample_batch(1, 1);
  const std::int64_t hour = 3'600'000'000;
  batch.reports = {
      {"job_history",
       {{"id", "job-1"},
        {"tenant", "physics"},
        {"gpus", number(8)},
        {"submitted_at_us", number(0)},
        {"placed_at_us", number(hour)},
        {"ended_at_us", number(3 * hour)}}},
      {"audit_trail",
       {{"seq", number(1)},
        {"actor", "alice"},
        {"kind", "token.issued"},
        {"request_id", "change-4711"},
        {"token", "t"}}},
      {"fabric_incidents",
       {{"id", "a 1"}, {"kind", "link.down"}, {"time_us", number(1)}, {"ended_at_us", number(5'000'001)}}},
      {"fabric_incidents", {{"id", "b 2"}, {"kind", "link.down"}, {"time_us", number(2)}, {"jobs", "job-1"}}},
      {"guarantee_breaches",
       {{"id", "job-1 7"}, {"tenant", "physics"}, {"began_at_us", number(7'000)}, {"ended_at_us", number(9'000)}}},
      {"guarantee_breaches", {{"id", "job-1 9"}, {"tenant", "physics"}, {"began_at_us", number(9'000)}}}};
  take(journal_->append(batch));
  const std::vector<Rows> expected = {{{"physics", number(16)}},
                                      {{"physics", number(1), number(3600)}},
                                      {{number(1), number(0), "token.issued", "", "", "change-4711", "t"}},
                                      {{number(1), "alice", "token.issued", "", ""}},
                                      {{number(0), "alice", "token.issued", ""}},
                                      {{number(2), "", "link.down", "", "", "job-1"}},
                                      {{"link.down", number(1), number(5)}},
                                      {{"physics", number(2), number(1), number(2)}}};
  const auto queries = queries_of_the_page();
  ASSERT_EQ(queries.size(), expected.size()) << "every query of the page is here";
  for (std::size_t i = 0; i < queries.size(); ++i) EXPECT_EQ(store_->select(queries[i]), expected[i]) << queries[i];
}

}  // namespace
}  // namespace railweave::db::journal_report_test
