// A database of its own on the tests' server (tests/support/postgres_server.py), dropped with all in it.
#pragma once

#include <string>
#include <vector>

#include <pqxx/pqxx>

namespace railweave::db {

class TestDatabase {
 public:
  TestDatabase();
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;
  ~TestDatabase();

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Run on a connection of its own, behind the journal's back.
  pqxx::result run(const std::string& sql) const;

 private:
  std::string server_;
  std::string name_;
  std::string url_;
};

}  // namespace railweave::db
