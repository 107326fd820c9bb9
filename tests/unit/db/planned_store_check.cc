#include "tests/unit/db/planned_store_check.h"

#include <map>

#include <gtest/gtest.h>

#include "db/replay.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/sqlite_journal.h"
#include "tests/unit/db/planned_batch.h"
#include "tests/unit/db/results.h"

namespace railweave::db {
namespace {

std::map<std::int64_t, std::string> audit_trail(const std::filesystem::path& path) {
  auto connection = take(sqlite::Connection::open(path, 1000));
  const auto row = take(connection.prepared("SELECT seq, summary FROM audit_trail"));
  std::map<std::int64_t, std::string> rows;
  while (take(row->step("read"))) rows.emplace(row->integer(0), row->bytes(1));
  return rows;
}

std::int64_t count(const std::filesystem::path& path, const std::string& table) {
  return take(take(sqlite::Connection::open(path, 1000)).integer("SELECT count(*) FROM " + table));
}

}  // namespace

std::uint64_t expect_planned_store(const std::filesystem::path& path, std::uint64_t seed, std::uint64_t acknowledged,
                                   std::uint64_t acknowledged_snapshot) {
  const auto journal = take(open_sqlite_journal(path));
  std::vector<Record> records;
  take(replay(*journal, 0, [&](const Record& record) -> Result<void> {
    records.push_back(record);
    return {};
  }));
  EXPECT_GE(records.size(), acknowledged) << "acknowledged records are lost";
  EXPECT_EQ(take(journal->last_seq()), records.size());

  std::map<std::int64_t, std::string> reports;
  std::int64_t blobs = 0;
  std::uint64_t newest_snapshot = 0;
  std::size_t at = 0;
  while (at < records.size()) {
    const Batch batch = planned_batch(seed, at + 1);
    if (records.size() - at < batch.records.size()) {
      ADD_FAILURE() << "the journal ends at " << records.size() << ", inside the batch from " << at + 1;
      break;
    }
    for (const Record& record : batch.records) EXPECT_TRUE(records[at++] == record) << "record " << at;
    for (const Blob& blob : batch.blobs) {
      EXPECT_TRUE(take(journal->blob(blob.digest)) == blob.bytes) << "blob of the batch up to " << at;
      ++blobs;
    }
    for (const ReportRow& row : batch.reports) {
      reports[std::get<std::int64_t>(row.columns[0].second)] = std::get<std::string>(row.columns[1].second);
    }
    if (planned_snapshot(seed, at)) newest_snapshot = at;
  }
  EXPECT_EQ(audit_trail(path), reports);
  EXPECT_EQ(count(path, "blobs"), blobs);

  const auto snapshot = take(journal->latest_snapshot());
  EXPECT_GE(snapshot ? snapshot->seq : 0, acknowledged_snapshot) << "an acknowledged snapshot is lost";
  if (snapshot) {
    EXPECT_LE(snapshot->seq, newest_snapshot);
    EXPECT_TRUE(snapshot == planned_snapshot(seed, snapshot->seq)) << "snapshot " << snapshot->seq;
  }
  return records.size();
}

}  // namespace railweave::db
