#include "db/sqlite/sqlite_journal.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "db/checksum.h"
#include "db/compression.h"
#include "db/journal_rules.h"
#include "db/limits.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/high_water_mark.h"
#include "db/sqlite/migration.h"
#include "db/sqlite/report_tables.h"
#include "db/sqlite/rows.h"
#include "db/sqlite/store_file.h"
#include "db/sqlite/store_lock.h"
#include "db/sqlite/store_place.h"
#include "db/sqlite/transaction.h"
#include "db/stored.h"

namespace railweave::db {
namespace {

using sqlite::Connection;

// The writer copies the WAL into the file when it has this many pages (16 MB), and cuts it to the limit after a large
// blob.
constexpr const char* kWriterSettings =
    "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON; PRAGMA cache_size = -16000;"
    "PRAGMA wal_autocheckpoint = 4096; PRAGMA journal_size_limit = 67108864";
constexpr const char* kReaderSettings =
    "PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA cache_size = -16000";

std::int64_t now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

class SqliteJournal final : public SqliteStore {
 public:
  // What opening has made and found.
  struct Opened {
    sqlite::StoreLock lock;
    Connection writer;
    Connection reader;
    sqlite::ReportTables reports;
    sqlite::HighWaterMark mark;
    sqlite::StorePlace place;
    std::uint64_t last_seq = 0;
    std::uint64_t last_term = 0;
    std::uint64_t floor_seq = 0;
  };
  SqliteJournal(Opened opened, SqliteOptions options)
      : lock_(std::move(opened.lock)),
        report_tables_(std::move(opened.reports)),
        options_(std::move(options)),
        place_(std::move(opened.place)),
        writer_(std::move(opened.writer)),
        mark_(std::move(opened.mark)),
        last_seq_(opened.last_seq),
        last_term_(opened.last_term),
        visible_seq_(opened.last_seq),
        floor_seq_(opened.floor_seq),
        reader_(std::move(opened.reader)) {}

  Result<void> append(const Batch& batch) override;
  Result<std::vector<Record>> read(const ReadFilter& filter) override;
  Result<std::uint64_t> last_seq() override;
  Result<void> save_snapshot(const Snapshot& snapshot) override;
  Result<std::optional<Snapshot>> latest_snapshot() override;
  Result<std::vector<ReportRow>> read_report(const ReportFilter& filter) override;
  Result<std::optional<std::string>> blob(const std::string& digest) override;
  Result<void> try_writing() override;

 private:
  void make_visible(std::uint64_t seq);
  Result<std::optional<StoredRecord>> read_one(std::uint64_t seq);
  // These three with write_mutex_ held.
  Result<void> write(const Batch& batch, const PackedBatch& packed);
  Result<std::uint64_t> remove_old_records();
  template <class Write>
  Result<void> in_transaction(Write write);

  // Constant after construction.
  sqlite::StoreLock lock_;  // given back last, after the connections are closed
  sqlite::ReportTables report_tables_;
  const SqliteOptions options_;
  const sqlite::StorePlace place_;

  std::mutex write_mutex_;  // guards the next five
  Connection writer_;
  sqlite::HighWaterMark mark_;
  std::uint64_t last_seq_;
  std::uint64_t last_term_;
  bool failed_ = false;  // the disk failed under a write, or the file is gone; see db.failed

  // The newest record that append has acknowledged or read has returned: a reader may see a commit before append
  // has returned.
  std::atomic<std::uint64_t> visible_seq_;
  std::atomic<std::uint64_t> floor_seq_;  // records up to this one are removed

  std::mutex read_mutex_;  // guards reader_
  Connection reader_;
};

void SqliteJournal::make_visible(std::uint64_t seq) {
  std::uint64_t known = visible_seq_.load();
  while (known < seq && !visible_seq_.compare_exchange_weak(known, seq)) {
  }
}

template <class Write>
Result<void> SqliteJournal::in_transaction(Write write) {
  if (failed_) {
    return fail(ErrorKind::unavailable, "db.failed",
                "an earlier write failed on the disk or its file is gone, so the store accepts no more writes",
                writer_.location(), "check the disk and the system log, then restart the service");
  }
  Result<void> outcome = [&]() -> Result<void> {
    auto transaction = sqlite::Transaction::begin(writer_);
    if (!transaction) return std::unexpected(transaction.error());
    const std::int64_t changes = writer_.total_changes();
    if (auto written = write(); !written) return written;
    const bool has_changed = writer_.total_changes() != changes;  // else the WAL may stay empty
    if (auto committed = transaction->commit(); !committed) return committed;
    return place_.check(has_changed);  // nothing is acknowledged that went into a file that is not there
  }();
  if (!outcome && (outcome.error().code == "db.io" || outcome.error().code == "db.lost")) failed_ = true;
  return outcome;
}

Result<void> SqliteJournal::write(const Batch& batch, const PackedBatch& packed) {
  for (std::size_t i = 0; i < batch.blobs.size(); ++i) {
    auto written = sqlite::insert_blob(writer_, batch.blobs[i], packed.blobs[i], packed.blob_checksums[i]);
    if (!written) return written;
  }
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    auto written = sqlite::insert_record(writer_, batch.records[i], packed.payloads[i], packed.record_checksums[i]);
    if (!written) return written;
  }
  for (const ReportRow& row : batch.reports) {
    if (auto written = report_tables_.upsert(writer_, row); !written) return written;
  }
  return {};
}

Result<void> SqliteJournal::append(const Batch& batch) {
  if (auto checked = check_batch(batch); !checked) return checked;
  for (const ReportRow& row : batch.reports) {
    if (auto checked = report_tables_.check(row); !checked) return checked;
  }
  if (batch.records.empty() && batch.blobs.empty() && batch.reports.empty()) return {};
  const PackedBatch packed(batch);

  const std::lock_guard guard(write_mutex_);
  if (!batch.records.empty()) {
    if (auto checked = check_continues(batch.records, last_seq_, last_term_); !checked) return checked;
  }
  if (auto written = in_transaction([&] { return write(batch, packed); }); !written) return written;
  if (!batch.records.empty()) {
    last_seq_ = batch.records.back().seq;
    last_term_ = batch.records.back().term;
    make_visible(last_seq_);
    mark_.write(last_seq_);
  }
  return {};
}

// The same version once more: a page that is written nevertheless.
Result<void> SqliteJournal::try_writing() {
  const std::lock_guard guard(write_mutex_);
  const auto version = writer_.integer("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  return in_transaction(
      [&] { return writer_.execute(fmt::format("PRAGMA user_version = {}", *version), "try to write"); });
}

Result<std::uint64_t> SqliteJournal::last_seq() {
  if (auto there = place_.check(false); !there) return std::unexpected(there.error());
  return visible_seq_.load();
}

Result<std::vector<Record>> SqliteJournal::read(const ReadFilter& filter) {
  if (auto checked = check_filter(filter); !checked) return std::unexpected(checked.error());
  const std::uint64_t end = visible_seq_.load();
  const std::uint64_t floor = floor_seq_.load();
  auto fetched = [&] {
    const std::lock_guard guard(read_mutex_);
    return sqlite::fetch_records(reader_, filter);
  }();
  const FetchOne one = [this](std::uint64_t seq) { return read_one(seq); };
  if (!fetched && fetched.error().code == "db.damaged" && filter.with_damaged) {
    return read_one_by_one(filter, floor, end, one);
  }
  if (!fetched) return std::unexpected(fetched.error());
  auto records = unpack_records(filter, std::move(fetched->records), fetched->cut_short, floor, end, one);
  if (records && !records->empty() && !records->back().damaged) make_visible(records->back().seq);
  return records;
}

Result<std::optional<StoredRecord>> SqliteJournal::read_one(std::uint64_t seq) {
  const ReadFilter only{.after_seq = seq - 1, .up_to_seq = seq, .kinds = {}, .subject_kind = {}, .subject_id = {}};
  const std::lock_guard guard(read_mutex_);
  auto fetched = sqlite::fetch_records(reader_, only);
  if (!fetched) return std::unexpected(fetched.error());
  if (fetched->records.empty()) return std::nullopt;
  return std::move(fetched->records.front());
}

Result<std::vector<ReportRow>> SqliteJournal::read_report(const ReportFilter& filter) {
  const std::lock_guard guard(read_mutex_);
  return report_tables_.read(reader_, filter);
}

Result<void> SqliteJournal::save_snapshot(const Snapshot& snapshot) {
  if (auto checked = check_snapshot(snapshot); !checked) return checked;
  const PackedText payload(snapshot.payload);
  const std::uint32_t crc32 = checksum(snapshot);
  const std::string location = fmt::format("snapshot {}", snapshot.seq);

  const std::lock_guard guard(write_mutex_);
  if (snapshot.seq > last_seq_) {
    return fail(ErrorKind::conflict, "db.snapshotAhead",
                fmt::format("the journal ends at {}, before the snapshot", last_seq_), location,
                "append the records first");
  }
  const auto kept = sqlite::fetch_snapshot_seqs(writer_);
  if (!kept) return std::unexpected(kept.error());
  if (!kept->empty() && snapshot.seq < kept->front()) {
    return fail(ErrorKind::conflict, "db.snapshotBehind",
                fmt::format("a newer snapshot, {}, is stored already", kept->front()), location);
  }
  std::uint64_t floor = floor_seq_.load();
  auto saved = in_transaction([&]() -> Result<void> {
    if (auto inserted = sqlite::insert_snapshot(writer_, snapshot, payload, crc32); !inserted) return inserted;
    const auto removed = remove_old_records();
    if (!removed) return std::unexpected(removed.error());
    floor = *removed;
    return {};
  });
  if (saved) floor_seq_ = floor;
  return saved;
}

// Behind the older of the two snapshots that are kept, so that a damaged newer one still costs nothing but a longer
// replay.
Result<std::uint64_t> SqliteJournal::remove_old_records() {
  constexpr std::uint64_t kMaxRemoved = 50'000;  // by one snapshot: others wait for the write lock
  if (options_.keep_records == 0 || last_seq_ <= options_.keep_records) return floor_seq_.load();
  const auto kept = sqlite::fetch_snapshot_seqs(writer_);
  if (!kept) return std::unexpected(kept.error());
  if (kept->size() < kKeptSnapshots) return floor_seq_.load();
  const std::uint64_t up_to = std::min(kept->back(), last_seq_ - options_.keep_records);
  return sqlite::remove_records(writer_, up_to, kMaxRemoved, !options_.keep_reports);
}

Result<std::optional<Snapshot>> SqliteJournal::latest_snapshot() {
  std::vector<std::uint64_t> seqs;
  {
    const std::lock_guard guard(read_mutex_);
    auto found = sqlite::fetch_snapshot_seqs(reader_);
    if (!found) return std::unexpected(found.error());
    seqs = std::move(*found);
  }
  for (const std::uint64_t seq : seqs) {
    auto stored = [&] {
      const std::lock_guard guard(read_mutex_);
      return sqlite::fetch_snapshot(reader_, seq);
    }();
    if (stored && !*stored) continue;  // replaced by newer ones meanwhile
    auto snapshot = stored ? unpack(std::move(**stored)) : Result<Snapshot>(std::unexpected(stored.error()));
    if (snapshot) return std::move(*snapshot);
    if (snapshot.error().code != "db.damaged") return std::unexpected(snapshot.error());
    if (options_.on_warning) options_.on_warning(snapshot.error());
  }
  return std::nullopt;
}

Result<std::optional<std::string>> SqliteJournal::blob(const std::string& digest) {
  if (!is_digest(digest)) return std::nullopt;
  auto stored = [&] {
    const std::lock_guard guard(read_mutex_);
    return sqlite::fetch_blob(reader_, digest);
  }();
  if (!stored) return std::unexpected(stored.error());
  if (!*stored) return std::nullopt;
  auto blob = unpack(digest, std::move(**stored));
  if (!blob) return std::unexpected(blob.error());
  return std::move(blob->bytes);
}

// Opens the writing connection and brings the schema up to date; nothing is changed in a file of another program.
Result<Connection> open_writer(const std::filesystem::path& path, const SqliteOptions& options) {
  auto writer = Connection::open(path, options.busy_timeout_ms);
  if (!writer) return writer;
  const auto version = sqlite::schema_version(*writer, sqlite::embedded_migrations());
  if (!version) return std::unexpected(version.error());
  if (writer->read_only()) {
    return fail(ErrorKind::unavailable, "db.readOnly", "the store cannot be written", path.string(),
                "give the service's user write permission on the file and its directory, on a writable file system");
  }
  const auto mode = writer->text("PRAGMA journal_mode = WAL");
  if (!mode) return std::unexpected(mode.error());
  if (*mode != "wal") {
    return fail(ErrorKind::unavailable, "db.cannotOpen",
                "SQLite cannot use a write-ahead log here (mode " + *mode + ")", path.string(),
                "keep the store on a local file system that supports shared memory maps");
  }
  if (auto set = writer->execute(kWriterSettings, "configure the store"); !set) return std::unexpected(set.error());
  if (options.max_bytes != 0) {
    const auto page_bytes = writer->integer("PRAGMA page_size");
    if (!page_bytes) return std::unexpected(page_bytes.error());
    const std::uint64_t pages = std::max<std::uint64_t>(1, options.max_bytes / static_cast<std::uint64_t>(*page_bytes));
    auto set = writer->execute(fmt::format("PRAGMA max_page_count = {}", pages), "limit the store's size");
    if (!set) return std::unexpected(set.error());
  }
  auto migrated = sqlite::migrate(*writer, sqlite::embedded_migrations(), *version, now_us());
  if (!migrated) return std::unexpected(migrated.error());
  return writer;
}

// Large stores are left to check_sqlite_store(): a start must not take minutes.
Result<void> quick_check(Connection& writer, const std::filesystem::path& path) {
  constexpr std::int64_t kMaxPages = 262'144;  // 1 GB, about two seconds
  const auto pages = writer.integer("PRAGMA page_count");
  if (!pages) return std::unexpected(pages.error());
  if (*pages > kMaxPages) return {};
  const auto found = writer.text("PRAGMA quick_check(1)");
  if (!found) return std::unexpected(found.error());
  if (*found == "ok") return {};
  return fail(ErrorKind::internal, "db.damaged", *found, path.string(), "restore the store from a backup");
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> open_sqlite_journal(const std::filesystem::path& path, SqliteOptions options) {
  const auto file = sqlite::find_store_file(path, options.create);
  if (!file) return std::unexpected(file.error());
  auto lock = sqlite::StoreLock::acquire(*file);
  if (!lock) return std::unexpected(lock.error());
  const auto mark = sqlite::HighWaterMark::read(*file);
  if (!mark) return std::unexpected(mark.error());
  std::error_code error;
  if (!std::filesystem::exists(*file, error)) {
    if (auto checked = sqlite::check_mark(*file, *mark, 0); !checked) return std::unexpected(checked.error());
  }
  if (auto created = sqlite::create_store_file(*file); !created) return std::unexpected(created.error());

  auto writer = open_writer(*file, options);
  if (!writer) return std::unexpected(writer.error());
  auto reader = Connection::open(*file, options.busy_timeout_ms);
  if (!reader) return std::unexpected(reader.error());
  if (auto set = reader->execute(kReaderSettings, "configure the store"); !set) return std::unexpected(set.error());
  if (auto checked = quick_check(*writer, *file); !checked) return std::unexpected(checked.error());

  auto reports = sqlite::ReportTables::load(*writer);
  if (!reports) return std::unexpected(reports.error());
  const auto last_seq = writer->integer("SELECT max(seq) FROM journal");
  if (!last_seq) return std::unexpected(last_seq.error());
  const auto last_term = writer->integer("SELECT term FROM journal ORDER BY seq DESC LIMIT 1");
  if (!last_term) return std::unexpected(last_term.error());
  const auto snapshot = sqlite::fetch_snapshot_seqs(*writer);
  if (!snapshot) return std::unexpected(snapshot.error());
  const auto whole = check_not_cut(static_cast<std::uint64_t>(*last_seq), *snapshot, file->string());
  if (!whole) return std::unexpected(whole.error());
  if (auto checked = sqlite::check_mark(*file, *mark, static_cast<std::uint64_t>(*last_seq)); !checked) {
    return std::unexpected(checked.error());
  }
  const auto floor = sqlite::fetch_floor(*writer);
  if (!floor) return std::unexpected(floor.error());
  auto new_mark = sqlite::HighWaterMark::open(*file);
  if (!new_mark) return std::unexpected(new_mark.error());
  new_mark->write(static_cast<std::uint64_t>(*last_seq));
  auto place = sqlite::StorePlace::of(*file);
  if (!place) return std::unexpected(place.error());
  return std::make_unique<SqliteJournal>(
      SqliteJournal::Opened{std::move(*lock), std::move(*writer), std::move(*reader), std::move(*reports),
                            std::move(*new_mark), std::move(*place), static_cast<std::uint64_t>(*last_seq),
                            static_cast<std::uint64_t>(*last_term), *floor},
      std::move(options));
}

}  // namespace railweave::db
