#include "db/postgres/postgres_journal.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "db/checksum.h"
#include "db/journal_rules.h"
#include "db/postgres/append_statement.h"
#include "db/postgres/doubt.h"
#include "db/postgres/lease.h"
#include "db/postgres/migration.h"
#include "db/postgres/report_tables.h"
#include "db/postgres/rows.h"
#include "db/postgres/session.h"
#include "db/stored.h"

namespace railweave::db {
namespace {

using postgres::Session;

std::string this_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'?'};
  return fmt::format("{}, process {}", host.data(), ::getpid());
}

struct Tail {
  std::uint64_t seq = 0;
  std::uint64_t term = 0;
};

Result<Tail> read_tail(Session& session) {
  auto rows = session.run("SELECT seq, term FROM journal ORDER BY seq DESC LIMIT 1", {}, "read the journal's end");
  if (!rows) return std::unexpected(rows.error());
  Tail tail;
  if (!rows->empty()) {
    tail = {static_cast<std::uint64_t>((*rows)[0][0].as<std::int64_t>()),
            static_cast<std::uint64_t>((*rows)[0][1].as<std::int64_t>())};
  }
  const auto snapshots = postgres::fetch_snapshot_seqs(session);
  if (!snapshots) return std::unexpected(snapshots.error());
  if (auto whole = check_not_cut(tail.seq, *snapshots, session.location()); !whole)
    return std::unexpected(whole.error());
  return tail;
}

// 0, but for a store that is a copy of one whose oldest records were removed.
Result<std::uint64_t> read_floor(Session& session) {
  const auto rows = session.run("SELECT min(seq) - 1 FROM journal", {}, "read the journal's beginning");
  if (!rows) return std::unexpected(rows.error());
  const auto floor = static_cast<std::uint64_t>((*rows)[0][0].as<std::int64_t>(0));
  if (floor == 0) return floor;
  const auto snapshots = postgres::fetch_snapshot_seqs(session);
  if (!snapshots) return std::unexpected(snapshots.error());
  if (!snapshots->empty() && snapshots->back() >= floor) return floor;
  return fail(ErrorKind::internal, "db.damaged",
              fmt::format("the records up to {} are gone, and no snapshot stands for them", floor), session.location(),
              "restore the store from a backup");
}

class PostgresJournal final : public SharedJournal {
 public:
  PostgresJournal(std::string url, PostgresOptions options, ReportSchema reports,
                  std::shared_ptr<postgres::Timeline> newest_timeline, std::uint64_t floor_seq,
                  std::unique_ptr<Session> writer)
      : url_(std::move(url)),
        options_(std::move(options)),
        report_schema_(std::move(reports)),
        newest_timeline_(std::move(newest_timeline)),
        floor_seq_(floor_seq),
        writer_(std::move(writer)) {}

  Result<void> append(const Batch& batch) override;
  Result<std::vector<Record>> read(const ReadFilter& filter) override;
  Result<std::uint64_t> last_seq() override { return visible_seq_.load(); }
  Result<void> save_snapshot(const Snapshot& snapshot) override;
  Result<std::optional<Snapshot>> latest_snapshot() override;
  Result<std::vector<ReportRow>> read_report(const ReportFilter& filter) override;
  Result<std::optional<std::string>> blob(const std::string& digest) override;
  bool leads() const override {
    const auto* lease = leading_.load();
    return lease != nullptr && lease->held();
  }
  std::uint64_t term() const override {
    const auto* lease = leading_.load();
    return lease == nullptr ? 0 : lease->term();
  }
  std::chrono::milliseconds silence() const override {
    const auto* lease = leading_.load();
    return lease == nullptr ? std::chrono::milliseconds(0) : lease->since_renewal();
  }
  Result<void> try_writing() override;
  Result<bool> try_lead() override;
  Result<bool> wait_for_news(std::chrono::milliseconds at_most) override;

  // db.locked: another writer has held the lease all the time.
  Result<void> lead(std::chrono::milliseconds patience);

 private:
  [[nodiscard]] postgres::SessionOptions limits(bool appends = false) const {
    return {.statement_patience = options_.patience,
            .network_patience = options_.lease,
            .appends = appends,
            .newest_timeline = newest_timeline_};
  }
  void make_visible(std::uint64_t seq);
  Result<std::optional<StoredRecord>> read_one(std::uint64_t seq);
  std::unexpected<Error> deposed() const;
  // These with write_mutex_ held.
  Result<void> be_ready();
  Result<void> resolve_doubt();
  Result<void> write(const Batch& batch, const PackedBatch& packed, std::int64_t nonce);
  Result<void> store(const Batch& batch, const PackedBatch& packed, std::int64_t nonce);
  // Once more over a new connection where the old one is found lost: reading changes nothing.
  template <class Fetch>
  auto with_reader(Fetch fetch) -> decltype(fetch(std::declval<Session&>()));

  // Constant after construction.
  const std::string url_;
  const PostgresOptions options_;
  const ReportSchema report_schema_;
  const std::shared_ptr<postgres::Timeline> newest_timeline_;
  // The records up to this one were removed behind snapshots, in the store that this one is a copy of.
  const std::uint64_t floor_seq_;

  std::mutex write_mutex_;  // guards the next eight
  std::unique_ptr<postgres::Lease> lease_;
  postgres::Fence fence_;  // of the lease
  std::unique_ptr<Session> writer_;
  Tail tail_;
  bool continues_ = false;                // writer_ has appended: its server has the journal up to tail_
  std::optional<postgres::Doubt> doubt_;  // of the batch after tail_
  Tail doubtful_tail_;                    // with that batch
  std::mt19937_64 nonces_{std::random_device{}()};

  std::atomic<const postgres::Lease*> leading_{nullptr};  // lease_, once it is held
  std::atomic<bool> is_deposed_{false};
  std::atomic<bool> has_doubt_{false};
  // The newest record that append has acknowledged or read has returned: a reader may see a commit before append has returned.
  std::atomic<std::uint64_t> visible_seq_{0};

  // A network that forgets one connection has often forgotten those beside it: a reader of before is not waited for.
  std::atomic<std::uint64_t> writers_lost_{0};
  std::mutex read_mutex_;  // guards the next two
  std::unique_ptr<Session> reader_;
  std::uint64_t reader_since_ = 0;  // writers_lost_ as it was connected

  std::unique_ptr<Session> listener_;  // of wait_for_news
};

void PostgresJournal::make_visible(std::uint64_t seq) {
  std::uint64_t known = visible_seq_.load();
  while (known < seq && !visible_seq_.compare_exchange_weak(known, seq)) {
  }
}

std::unexpected<Error> PostgresJournal::deposed() const {
  return fail(ErrorKind::unavailable, "db.deposed",
              "another process has taken over the store; this one accepts no more writes", postgres::redacted(url_),
              "send the request to the process that leads, or restart this one to stand by");
}

Result<void> PostgresJournal::resolve_doubt() {
  if (!doubt_) return {};
  const auto stored = postgres::is_stored(*writer_, *doubt_, options_.doubt_patience);
  if (!stored) {
    if (stored.error().code == "db.inDoubt") return std::unexpected(stored.error());
    return fail(ErrorKind::unavailable, "db.inDoubt",
                "it is not known whether the last batch was stored: " + stored.error().message, writer_->location(),
                "check the server; the store goes on once it is known");
  }
  if (*stored) {
    tail_ = doubtful_tail_;
    make_visible(tail_.seq);
  }
  doubt_.reset();
  has_doubt_ = false;
  return {};
}

// The lease, a session that works, and nothing in doubt.
Result<void> PostgresJournal::be_ready() {
  if (lease_ == nullptr) {
    return fail(ErrorKind::unavailable, "db.notLeader", "another process leads: this one only follows the store",
                postgres::redacted(url_), "send the request to the process that leads");
  }
  if (is_deposed_) return deposed();
  if (writer_ == nullptr || writer_->lost()) {
    auto connected = Session::connect(url_, limits(true));
    if (!connected) return std::unexpected(connected.error());
    writer_ = std::move(*connected);
    continues_ = false;
  }
  return resolve_doubt();
}

Result<void> PostgresJournal::store(const Batch& batch, const PackedBatch& packed, std::int64_t nonce) {
  auto fence = fence_;
  // A server that lacks the record before was failed over from, and lives on. A session's server stays the same.
  if (!continues_) {
    fence.after_seq = tail_.seq;
    fence.after_term = tail_.term;
  }
  const auto statement = postgres::append_statement(batch, packed, nonce, fence, report_schema_);
  const auto append = [&]() -> Result<bool> {
    auto done =
        writer_->run(statement.sql, statement.parameters, fmt::format("append {} records", batch.records.size()));
    if (!done) return std::unexpected(done.error());
    return (*done)[0][0].as<std::int64_t>() == 1;
  };
  const auto append_all = [&]() -> Result<bool> {
    if (batch.blobs.empty()) return append();
    bool held = false;
    auto done = writer_->in_transaction(
        [&]() -> Result<void> {
          for (std::size_t i = 0; i < batch.blobs.size(); ++i) {
            auto written = postgres::insert_blob(*writer_, batch.blobs[i], packed.blobs[i], packed.blob_checksums[i]);
            if (!written) return written;
          }
          const auto appended = append();
          if (!appended) return std::unexpected(appended.error());
          held = *appended;
          return held ? Result<void>() : Result<void>(deposed());
        },
        "append a batch");
    if (!done && done.error().code != "db.deposed") return std::unexpected(done.error());
    return held;
  };
  auto held = append_all();
  if (held && !*held) {
    // Expired, perhaps only because the server could not be reached for a while.
    const auto extended = lease_->extend(*writer_);
    if (!extended) return std::unexpected(extended.error());
    if (*extended) held = append_all();
    if (!*extended || (held && !*held)) {
      // The lease has told of the first.
      if (!is_deposed_.exchange(true) && *extended && options_.on_deposed) options_.on_deposed();
      return deposed();
    }
  }
  if (!held) return std::unexpected(held.error());
  continues_ = true;
  return {};
}

Result<void> PostgresJournal::write(const Batch& batch, const PackedBatch& packed, std::int64_t nonce) {
  auto stored = store(batch, packed, nonce);
  if (stored || !writer_->lost()) return stored;
  ++writers_lost_;
  if (batch.records.empty()) {
    // Writing it again comes to the same, once nothing of the old session can follow.
    doubt_ = postgres::Doubt{writer_->backend(), 0, nonce};
    if (auto ready = be_ready(); !ready) return ready;
    return store(batch, packed, nonce);
  }
  doubt_ = postgres::Doubt{writer_->backend(), batch.records.back().seq, nonce};
  doubtful_tail_ = {batch.records.back().seq, batch.records.back().term};
  has_doubt_ = true;
  if (auto ready = be_ready(); !ready) {
    return fail(ErrorKind::unavailable, "db.inDoubt",
                "it is not known whether the batch was stored: " + ready.error().message, ready.error().location,
                "check the server; the store goes on once it is known");
  }
  if (tail_.seq == batch.records.back().seq) return {};
  return stored;
}

Result<void> PostgresJournal::append(const Batch& batch) {
  if (auto checked = check_batch(batch); !checked) return checked;
  for (const ReportRow& row : batch.reports) {
    if (auto checked = report_schema_.check(row); !checked) return checked;
  }
  if (batch.records.empty() && batch.blobs.empty() && batch.reports.empty()) return {};
  const PackedBatch packed(batch);

  const std::lock_guard guard(write_mutex_);
  if (auto ready = be_ready(); !ready) return ready;
  if (!batch.records.empty()) {
    if (auto checked = check_continues(batch.records, tail_.seq, tail_.term); !checked) return checked;
  }
  if (auto written = write(batch, packed, static_cast<std::int64_t>(nonces_())); !written) return written;
  if (!batch.records.empty()) {
    tail_ = {batch.records.back().seq, batch.records.back().term};
    make_visible(tail_.seq);
  }
  return {};
}

Result<void> PostgresJournal::lead(std::chrono::milliseconds patience) {
  const std::lock_guard guard(write_mutex_);
  auto lease = postgres::Lease::acquire(url_, limits(),
                                        {options_.holder, options_.lease, patience, options_.on_deposed, options_.log});
  if (!lease) return std::unexpected(lease.error());
  lease_ = std::move(*lease);
  fence_ = {lease_->holder(), lease_->term()};
  // Only now: before, another writer may have gone on. A lease that comes to nothing is given back: kept, it would keep
  // the others waiting too.
  const auto ready = be_ready();
  const auto tail = ready ? read_tail(*writer_) : Result<Tail>(std::unexpected(ready.error()));
  if (!tail) {
    lease_.reset();
    return std::unexpected(tail.error());
  }
  tail_ = *tail;
  make_visible(tail_.seq);
  leading_ = lease_.get();
  return {};
}

Result<bool> PostgresJournal::try_lead() {
  auto led = lead(std::chrono::milliseconds(0));
  if (led) return true;
  if (led.error().code == "db.locked") return false;
  return std::unexpected(std::move(led.error()));
}

Result<void> PostgresJournal::try_writing() {
  const std::lock_guard guard(write_mutex_);
  if (auto ready = be_ready(); !ready) return ready;
  return postgres::write_and_undo(*writer_);
}

Result<bool> PostgresJournal::wait_for_news(std::chrono::milliseconds at_most) {
  if (listener_ == nullptr || listener_->lost()) {
    auto connected = Session::connect(url_, limits());
    if (!connected) return std::unexpected(connected.error());
    listener_ = std::move(*connected);
  }
  auto expiry = listener_->run(
      "SELECT ceil(1000 * extract(epoch FROM greatest(expires, clock_timestamp()) - clock_timestamp()))::bigint"
      " FROM lease WHERE id = 1",
      {}, "read the lease");
  if (!expiry) return std::unexpected(expiry.error());
  const std::int64_t left_ms = (*expiry)[0][0].as<std::int64_t>();
  if (left_ms == 0) return true;
  const auto notified =
      listener_->wait_for_notification("railweave", std::min(at_most, std::chrono::milliseconds(left_ms)));
  if (!notified) return std::unexpected(notified.error());
  return false;
}

template <class Fetch>
auto PostgresJournal::with_reader(Fetch fetch) -> decltype(fetch(std::declval<Session&>())) {
  // What a lost commit left is decided first: a reader would otherwise take for the end what is not.
  if (has_doubt_) {
    const std::lock_guard guard(write_mutex_);
    if (auto ready = be_ready(); !ready) return std::unexpected(ready.error());
  }
  const std::lock_guard guard(read_mutex_);
  for (bool again : {true, false}) {
    if (const auto lost = writers_lost_.load(); reader_ == nullptr || reader_->lost() || reader_since_ != lost) {
      auto connected = Session::connect(url_, limits());
      if (!connected) return std::unexpected(connected.error());
      reader_ = std::move(*connected);
      reader_since_ = lost;
      again = false;
    }
    auto fetched = fetch(*reader_);
    if (fetched || !reader_->lost() || !again) return fetched;
  }
  std::unreachable();
}

Result<std::vector<Record>> PostgresJournal::read(const ReadFilter& filter) {
  if (auto checked = check_filter(filter); !checked) return std::unexpected(checked.error());
  const std::uint64_t end = visible_seq_.load();
  auto fetched = with_reader([&](Session& session) { return postgres::fetch_records(session, filter); });
  const FetchOne one = [this](std::uint64_t seq) { return read_one(seq); };
  if (!fetched && fetched.error().code == "db.damaged" && filter.with_damaged) {
    return read_one_by_one(filter, floor_seq_, end, one);
  }
  if (!fetched) return std::unexpected(fetched.error());
  auto records = unpack_records(filter, std::move(fetched->records), fetched->cut_short, floor_seq_, end, one);
  if (records && !records->empty() && !records->back().damaged) make_visible(records->back().seq);
  return records;
}

Result<std::optional<StoredRecord>> PostgresJournal::read_one(std::uint64_t seq) {
  const ReadFilter only{.after_seq = seq - 1, .up_to_seq = seq, .kinds = {}, .subject_kind = {}, .subject_id = {}};
  auto fetched = with_reader([&](Session& session) { return postgres::fetch_records(session, only); });
  if (!fetched) return std::unexpected(fetched.error());
  if (fetched->records.empty()) return std::nullopt;
  return std::move(fetched->records.front());
}

Result<void> PostgresJournal::save_snapshot(const Snapshot& snapshot) {
  if (auto checked = check_snapshot(snapshot); !checked) return checked;
  const PackedText payload(snapshot.payload);
  const std::uint32_t crc32 = checksum(snapshot);
  const std::string location = fmt::format("snapshot {}", snapshot.seq);

  const std::lock_guard guard(write_mutex_);
  if (auto ready = be_ready(); !ready) return ready;
  if (snapshot.seq > tail_.seq) {
    return fail(ErrorKind::conflict, "db.snapshotAhead",
                fmt::format("the journal ends at {}, before the snapshot", tail_.seq), location,
                "append the records first");
  }
  const auto kept = postgres::fetch_snapshot_seqs(*writer_);
  if (!kept) return std::unexpected(kept.error());
  if (!kept->empty() && snapshot.seq < kept->front()) {
    return fail(ErrorKind::conflict, "db.snapshotBehind",
                fmt::format("a newer snapshot, {}, is stored already", kept->front()), location);
  }
  auto held = postgres::insert_snapshot(*writer_, snapshot, payload, crc32, fence_);
  if (held && !*held) {
    const auto extended = lease_->extend(*writer_);
    if (!extended) return std::unexpected(extended.error());
    if (*extended) held = postgres::insert_snapshot(*writer_, snapshot, payload, crc32, fence_);
  }
  if (!held) return std::unexpected(held.error());
  if (!*held) {
    is_deposed_ = true;
    return deposed();
  }
  return {};
}

Result<std::optional<Snapshot>> PostgresJournal::latest_snapshot() {
  const auto seqs = with_reader([](Session& session) { return postgres::fetch_snapshot_seqs(session); });
  if (!seqs) return std::unexpected(seqs.error());
  for (const std::uint64_t seq : *seqs) {
    auto stored = with_reader([&](Session& session) { return postgres::fetch_snapshot(session, seq); });
    if (stored && !*stored) continue;  // replaced by newer ones meanwhile
    auto snapshot = stored ? unpack(std::move(**stored)) : Result<Snapshot>(std::unexpected(stored.error()));
    if (snapshot) return std::move(*snapshot);
    if (snapshot.error().code != "db.damaged") return std::unexpected(snapshot.error());
    if (options_.on_warning) options_.on_warning(snapshot.error());
  }
  return std::nullopt;
}

Result<std::vector<ReportRow>> PostgresJournal::read_report(const ReportFilter& filter) {
  return with_reader([&](Session& session) { return postgres::read_report(session, report_schema_, filter); });
}

Result<std::optional<std::string>> PostgresJournal::blob(const std::string& digest) {
  if (!is_digest(digest)) return std::nullopt;
  auto stored = with_reader([&](Session& session) { return postgres::fetch_blob(session, digest); });
  if (!stored) return std::unexpected(stored.error());
  if (!*stored) return std::nullopt;
  auto found = unpack(digest, std::move(**stored));
  if (!found) return std::unexpected(found.error());
  return std::move(found->bytes);
}

Result<std::unique_ptr<PostgresJournal>> connect(const std::string& url, PostgresOptions options) {
  auto newest = std::make_shared<postgres::Timeline>(0);
  const postgres::SessionOptions limits{.statement_patience = options.patience,
                                        .network_patience = options.lease,
                                        .appends = true,
                                        .newest_timeline = newest};
  auto session = Session::connect(url, limits);
  if (!session) return std::unexpected(session.error());
  if (auto migrated = postgres::migrate(**session, postgres::embedded_migrations()); !migrated) {
    return std::unexpected(migrated.error());
  }
  auto reports = postgres::load_report_schema(**session);
  if (!reports) return std::unexpected(reports.error());
  const auto floor = read_floor(**session);
  if (!floor) return std::unexpected(floor.error());
  if (options.holder.empty()) options.holder = this_process();
  return std::make_unique<PostgresJournal>(url, std::move(options), std::move(*reports), std::move(newest), *floor,
                                           std::move(*session));
}

}  // namespace

Result<std::unique_ptr<Journal>> open_postgres_journal(const std::string& url, PostgresOptions options) {
  const auto patience = options.lease_patience;
  auto journal = connect(url, std::move(options));
  if (!journal) return std::unexpected(journal.error());
  if (auto leads = (*journal)->lead(patience); !leads) return std::unexpected(leads.error());
  return std::move(*journal);
}

Result<std::unique_ptr<SharedJournal>> open_shared_postgres_journal(const std::string& url, PostgresOptions options) {
  auto journal = connect(url, std::move(options));
  if (!journal) return std::unexpected(journal.error());
  return std::move(*journal);
}

bool is_postgres_url(const std::string& store) {
  return store.starts_with("postgresql://") || store.starts_with("postgres://") || store.contains("dbname=");
}

std::string redacted_url(const std::string& url) { return postgres::redacted(url); }

}  // namespace railweave::db
