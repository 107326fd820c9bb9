#include <stdexcept>

#include "db/postgres/postgres_journal.h"
#include "tests/unit/db/results.h"
#include "tests/unit/db/store_under_test.h"
#include "tests/unit/postgres/test_database.h"

namespace railweave::db {
namespace {

class PostgresStoreUnderTest final : public StoreUnderTest {
 public:
  Result<std::unique_ptr<Journal>> open() override {
    PostgresOptions options;
    options.on_warning = [this](const Error& warning) { warnings.push_back(warning); };
    return open_postgres_journal(database_.url(), options);
  }

  std::vector<std::vector<Value>> select(const std::string& sql) override {
    std::vector<std::vector<Value>> rows;
    for (const auto& row : database_.run(sql)) {
      auto& values = rows.emplace_back();
      for (const auto& field : row) values.push_back(value(field));
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
    tamper("UPDATE blobs SET data = set_byte(data, 20, get_byte(data, 20) # 255) WHERE digest = '" + digest + "'");
  }

 private:
  static Value value(const pqxx::field& field) {
    constexpr pqxx::oid kBigint = 20;
    constexpr pqxx::oid kReal = 701;
    if (field.is_null()) return {};
    if (field.type() == kBigint) return field.as<std::int64_t>();
    if (field.type() == kReal) return field.as<double>();
    return std::string(field.c_str());
  }

  void tamper(const std::string& sql) {
    database_.run("ALTER TABLE journal DISABLE TRIGGER USER");
    if (database_.run(sql).affected_rows() != 1) throw std::runtime_error("nothing to damage: " + sql);
  }

  TestDatabase database_;
};

}  // namespace

std::vector<StoreKind> store_kinds() {
  return {{"Postgres", [] { return std::make_unique<PostgresStoreUnderTest>(); }}};
}

}  // namespace railweave::db
