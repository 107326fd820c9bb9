#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "db/checksum.h"
#include "db/journal_rules.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/high_water_mark.h"
#include "db/sqlite/migration.h"
#include "db/sqlite/report_tables.h"
#include "db/sqlite/rows.h"
#include "db/sqlite/sqlite_image.h"
#include "db/sqlite/store_file.h"
#include "db/sqlite/system_failure.h"
#include "db/sqlite/transaction.h"
#include "db/stored.h"

namespace railweave::db {
namespace {

using sqlite::Connection;

Result<void> sync_entry(const std::filesystem::path& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) return sqlite::system_failure("open", errno, path);
  const int synced = ::fsync(file);
  const int failure = errno;
  ::close(file);
  if (synced != 0) return sqlite::system_failure("sync", failure, path);
  return {};
}

// Written under another name, so that what was not finished is no store.
class SqliteImport final : public StoreImport {
 public:
  SqliteImport(std::filesystem::path path, std::filesystem::path unfinished)
      : path_(std::move(path)), unfinished_(std::move(unfinished)) {}
  ~SqliteImport() override {
    transaction_.reset();
    writer_.reset();
    std::error_code ignored;
    if (!finished_) std::filesystem::remove(unfinished_, ignored);
  }

  Result<void> begin() {
    std::error_code ignored;
    std::filesystem::remove(unfinished_, ignored);  // of an attempt that was interrupted
    if (auto made = sqlite::create_store_file(unfinished_); !made) return made;
    auto writer = Connection::open(unfinished_, 5000);
    if (!writer) return std::unexpected(writer.error());
    writer_ = std::make_unique<Connection>(std::move(*writer));
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto now_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    if (auto made = sqlite::migrate(*writer_, sqlite::embedded_migrations(), 0, now_us); !made) return made;
    auto reports = sqlite::ReportTables::load(*writer_);
    if (!reports) return std::unexpected(reports.error());
    reports_ = std::move(*reports);
    auto transaction = sqlite::Transaction::begin(*writer_);
    if (!transaction) return std::unexpected(transaction.error());
    transaction_ = std::make_unique<sqlite::Transaction>(std::move(*transaction));
    return {};
  }

  Result<void> add(const Batch& batch) override {
    if (auto checked = check_batch(batch); !checked) return checked;
    const PackedBatch packed(batch);
    if (!batch.records.empty()) {
      if (last_seq_ == 0) {
        last_seq_ = batch.records.front().seq - 1;
        if (auto set = set_floor(last_seq_); !set) return set;
      }
      if (auto checked = check_continues(batch.records, last_seq_, last_term_); !checked) return checked;
      last_seq_ = batch.records.back().seq;
      last_term_ = batch.records.back().term;
    }
    for (std::size_t i = 0; i < batch.blobs.size(); ++i) {
      auto written = sqlite::insert_blob(*writer_, batch.blobs[i], packed.blobs[i], packed.blob_checksums[i]);
      if (!written) return written;
    }
    for (std::size_t i = 0; i < batch.records.size(); ++i) {
      auto written = sqlite::insert_record(*writer_, batch.records[i], packed.payloads[i], packed.record_checksums[i]);
      if (!written) return written;
    }
    for (const ReportRow& row : batch.reports) {
      if (auto checked = reports_.check(row); !checked) return checked;
      if (auto written = reports_.upsert(*writer_, row); !written) return written;
    }
    return {};
  }

  Result<void> add(const Snapshot& snapshot) override {
    if (auto checked = check_snapshot(snapshot); !checked) return checked;
    return sqlite::insert_snapshot(*writer_, snapshot, PackedText(snapshot.payload), checksum(snapshot));
  }

  Result<void> finish() override {
    const auto mark = sqlite::HighWaterMark::read(path_);
    if (!mark) return std::unexpected(mark.error());
    if (auto checked = sqlite::check_mark(path_, *mark, last_seq_); !checked) return checked;
    if (auto committed = transaction_->commit(); !committed) return committed;
    transaction_.reset();
    writer_.reset();
    if (auto synced = sync_entry(unfinished_, O_RDONLY); !synced) return synced;
    if (::link(unfinished_.c_str(), path_.c_str()) != 0) return sqlite::system_failure("name", errno, path_);
    std::error_code ignored;
    std::filesystem::remove(unfinished_, ignored);
    finished_ = true;
    return sync_entry(path_.parent_path(), O_RDONLY | O_DIRECTORY);
  }

 private:
  Result<void> set_floor(std::uint64_t seq) {
    auto statement = writer_->prepared("UPDATE journal_floor SET seq = ?1");
    if (!statement) return std::unexpected(statement.error());
    return (*statement)->bind_unsigned(1, seq).run("set the number of the oldest record");
  }

  const std::filesystem::path path_, unfinished_;
  std::unique_ptr<Connection> writer_;
  sqlite::ReportTables reports_;
  std::unique_ptr<sqlite::Transaction> transaction_;
  std::uint64_t last_seq_ = 0;
  std::uint64_t last_term_ = 0;
  bool finished_ = false;
};

}  // namespace

Result<std::unique_ptr<StoreImport>> make_sqlite_store(const std::filesystem::path& path) {
  const auto file = sqlite::find_store_file(path, true);
  if (!file) return std::unexpected(file.error());
  std::error_code error;
  if (std::filesystem::exists(*file, error) || error) {
    return fail(ErrorKind::conflict, "db.exists", "there is a file of that name already", path.string(),
                "name a new file, or remove this one first");
  }
  auto made = std::make_unique<SqliteImport>(*file, file->string() + ".unfinished");
  if (auto begun = made->begin(); !begun) return std::unexpected(begun.error());
  return made;
}

}  // namespace railweave::db
