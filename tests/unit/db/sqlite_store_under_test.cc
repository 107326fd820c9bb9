#include "db/sqlite/connection.h"
#include "db/sqlite/sqlite_journal.h"
#include "tests/unit/db/results.h"
#include "tests/unit/db/store_under_test.h"
#include "tests/unit/db/temp_directory.h"

namespace railweave::db {
namespace {

class SqliteStoreUnderTest final : public StoreUnderTest {
 public:
  Result<std::unique_ptr<Journal>> open() override {
    SqliteOptions options;
    options.on_warning = [this](const Error& warning) { warnings.push_back(warning); };
    return open_sqlite_journal(path(), options);
  }

  std::vector<std::vector<Value>> select(const std::string& sql) override {
    auto connection = take(sqlite::Connection::open(path(), 1000));
    const auto statement = take(connection.prepared(sql));
    std::vector<std::vector<Value>> rows;
    while (take(statement->step("read"))) {
      auto& row = rows.emplace_back();
      for (int column = 0; column < statement->columns(); ++column) row.push_back(value(*statement, column));
    }
    return rows;
  }

  void damage_record(std::uint64_t seq) override {
    tamper("UPDATE journal SET payload = replace(payload, 'a', 'b') WHERE seq = " + std::to_string(seq));
  }
  void remove_record(std::uint64_t seq) override { tamper("DELETE FROM journal WHERE seq = " + std::to_string(seq)); }
  void damage_snapshot(std::uint64_t seq) override {
    tamper("UPDATE snapshots SET payload = replace(payload, 'a', 'b') WHERE seq = " + std::to_string(seq));
  }
  void damage_blob(const std::string& digest) override {
    tamper("UPDATE blobs SET data = CAST(substr(data, 1, 20) || x'FF' || substr(data, 22) AS BLOB) WHERE digest = '" +
           digest + "'");
  }

 private:
  [[nodiscard]] std::filesystem::path path() const { return directory_ / "railweave.db"; }

  static Value value(const sqlite::Statement& row, int column) {
    if (row.is_null(column)) return {};
    if (row.is_integer(column)) return row.integer(column);
    if (row.is_real(column)) return row.real(column);
    return std::string(row.bytes(column));
  }

  void tamper(const std::string& sql) {
    auto connection = take(sqlite::Connection::open(path(), 1000));
    take(
        connection.execute("DROP TRIGGER IF EXISTS journal_is_never_updated; DROP TRIGGER IF EXISTS "
                           "journal_is_deleted_behind_the_floor_only",
                           "tamper"));
    take(connection.execute(sql, "tamper"));
    if (connection.changes() != 1) throw std::runtime_error("nothing to damage: " + sql);
  }

  TempDirectory directory_;
};

}  // namespace

std::vector<StoreKind> store_kinds() {
  return {{"Sqlite", [] { return std::make_unique<SqliteStoreUnderTest>(); }}};
}

}  // namespace railweave::db
