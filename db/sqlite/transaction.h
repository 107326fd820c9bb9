// A write transaction: rolled back unless it was committed.
#pragma once

#include "db/sqlite/connection.h"

namespace railweave::db::sqlite {

class Transaction {
 public:
  // Takes the write lock at once, so that no statement in between can fail because the lock is held elsewhere.
  static Result<Transaction> begin(Connection& connection) {
    auto statement = connection.prepared("BEGIN IMMEDIATE");
    if (!statement) return std::unexpected(statement.error());
    if (auto begun = (*statement)->run("begin a transaction"); !begun) return std::unexpected(begun.error());
    return Transaction(connection);
  }

  Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction() {
    // After some errors SQLite has rolled back by itself.
    if (connection_ == nullptr || !connection_->in_transaction()) return;
    if (auto statement = connection_->prepared("ROLLBACK")) (void)(*statement)->run("roll back");
  }

  // Durable (fsynced) when it returns without an error.
  Result<void> commit() {
    auto statement = connection_->prepared("COMMIT");
    if (!statement) return std::unexpected(statement.error());
    if (auto committed = (*statement)->run("commit a transaction"); !committed) return committed;
    connection_ = nullptr;
    return {};
  }

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}
  Connection* connection_;
};

}  // namespace railweave::db::sqlite
