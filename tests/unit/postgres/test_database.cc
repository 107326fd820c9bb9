#include "tests/unit/postgres/test_database.h"

#include <atomic>
#include <fstream>
#include <stdexcept>

#include <unistd.h>

namespace railweave::db {
namespace {

std::string server_url() {
  std::ifstream file(std::string(RAILWEAVE_POSTGRES_SERVER) + "/url");
  std::string url;
  if (!std::getline(file, url)) {
    throw std::runtime_error("no server: run these tests by ctest -L postgresql, which starts one");
  }
  return url;
}

}  // namespace

TestDatabase::TestDatabase() : server_(server_url()) {
  static std::atomic<int> made{0};
  name_ = "test_" + std::to_string(::getpid()) + "_" + std::to_string(++made);
  url_ = server_ + name_;
  pqxx::connection connection(server_ + "postgres");
  pqxx::nontransaction(connection).exec("CREATE DATABASE " + name_ + " TEMPLATE template0 ENCODING 'UTF8'");
}

TestDatabase::~TestDatabase() {
  try {
    pqxx::connection connection(server_ + "postgres");
    pqxx::nontransaction(connection).exec("DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");
  } catch (const std::exception&) {
    // The server ends with the tests.
  }
}

pqxx::result TestDatabase::run(const std::string& sql) const {
  pqxx::connection connection(url_);
  return pqxx::nontransaction(connection).exec(sql);
}

}  // namespace railweave::db
