// The journal in a PostgreSQL database: the store of several replicas. Its schema, with what each table is for, is
// db/migrations/postgres/schema.sql.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "db/shared_journal.h"
#include "fabric/base/error.h"
#include "fabric/base/log/log.h"

namespace railweave::db {

struct PostgresOptions {
  std::string holder;                               // who writes, as others are told; empty: host name and process
  std::chrono::milliseconds lease{3'000};           // how long a writer that is gone keeps others waiting
  std::chrono::milliseconds lease_patience{5'000};  // of open_postgres_journal, with another writer's lease to expire
  std::chrono::milliseconds patience{10'000};       // with one call to the server
  std::chrono::milliseconds doubt_patience{
      20'000};  // with finding out whether a commit was stored when the connection was lost
  // Once, when another writer is seen to have taken over: this one never writes again. From any thread.
  std::function<void()> on_deposed;
  log::Log log;                                  // who may write: the lease taken, kept, lost
  std::function<void(const Error&)> on_warning;  // e.g. a damaged snapshot was skipped; called from the caller's thread
};

// Connects, brings the schema up to date and takes the lease of who may write; it is kept until the Journal is destroyed.
// `url`: postgresql://user@host:5432/database or libpq's "host=... dbname=...". Errors: db.cannotConnect, db.readOnly,
// db.encoding, db.notRailweave, db.newer, db.migrationDiffers, db.damaged, db.busy, db.full, db.locked (another writer has
// the lease).
//
// Beside the errors of journal.h, append and save_snapshot return db.full, db.busy, db.readOnly, db.cannotConnect and
// db.connectionLost, after which they may be tried again, and db.deposed: another writer has taken over, or may have; the
// store accepts no writes until it is opened again. When the connection is lost in a commit, the old session is ended and the
// journal read to see whether the batch is there; db.inDoubt says that this was not possible in time. The next call tries
// again before it does anything else. Where the server has synchronous standbys, a batch that is found counts as stored only
// when one of them has it.
Result<std::unique_ptr<Journal>> open_postgres_journal(const std::string& url, PostgresOptions options = {});

// The same without taking the lease: to follow another writer, and to succeed it.
Result<std::unique_ptr<SharedJournal>> open_shared_postgres_journal(const std::string& url,
                                                                    PostgresOptions options = {});

// postgresql://..., postgres://... or libpq's "host=... dbname=...": not the name of a file.
bool is_postgres_url(const std::string& store);

// The connection string without its password, for messages.
std::string redacted_url(const std::string& url);

}  // namespace railweave::db
