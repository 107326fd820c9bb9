#include "db/sqlite/store_check.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "db/journal_rules.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/high_water_mark.h"
#include "db/sqlite/migration.h"
#include "db/sqlite/rows.h"
#include "db/sqlite/store_file.h"
#include "db/sqlite/system_failure.h"
#include "db/stored.h"

namespace railweave::db {
namespace {

using sqlite::Connection;
constexpr std::int64_t kBusyTimeout_ms = 5000;

std::unexpected<Error> damage(const std::string& what, const std::filesystem::path& path) {
  return fail(ErrorKind::internal, "db.damaged", what, path.string(), "restore the store from a backup");
}

// A reading transaction on a store of this program's newest schema.
Result<Connection> open_for_reading(const std::filesystem::path& path) {
  auto reader = Connection::open(path, kBusyTimeout_ms);
  if (!reader) return reader;
  const auto version = sqlite::schema_version(*reader, sqlite::embedded_migrations());
  if (!version) return std::unexpected(version.error());
  if (static_cast<std::size_t>(*version) < sqlite::embedded_migrations().size()) {
    return fail(ErrorKind::precondition, "db.older",
                "the store has schema version " + std::to_string(*version) + ", older than this program's",
                path.string(), "start the service once, which brings it up to date");
  }
  return reader;
}

Result<void> check_records(Connection& reader, StoreCondition& condition, const std::filesystem::path& path) {
  for (std::uint64_t after = condition.first_seq == 0 ? 0 : condition.first_seq - 1; after < condition.last_seq;) {
    auto page = sqlite::fetch_records(
        reader, {.after_seq = after, .limit = 4096, .kinds = {}, .subject_kind = {}, .subject_id = {}});
    if (!page) return std::unexpected(page.error());
    if (page->records.empty()) return damage("record " + std::to_string(after + 1) + " is missing", path);
    for (auto& stored : page->records) {
      const auto record = unpack(std::move(stored));
      if (!record) return std::unexpected(record.error());
      if (record->seq != after + 1) return damage("record " + std::to_string(after + 1) + " is missing", path);
      after = record->seq;
      ++condition.records;
    }
  }
  return {};
}

Result<void> check_documents(Connection& reader, StoreCondition& condition, const std::filesystem::path& path) {
  const auto seqs = sqlite::fetch_snapshot_seqs(reader);
  if (!seqs) return std::unexpected(seqs.error());
  for (const std::uint64_t seq : *seqs) {
    auto stored = sqlite::fetch_snapshot(reader, seq);
    if (!stored) return std::unexpected(stored.error());
    if (!*stored) return damage("snapshot " + std::to_string(seq) + " is missing", path);
    if (const auto whole = unpack(std::move(**stored)); !whole) return std::unexpected(whole.error());
    if (seq > condition.last_seq) return damage("there is a snapshot of a record beyond the journal's end", path);
    ++condition.snapshots;
  }
  if (condition.first_seq > 1 && (seqs->empty() || seqs->back() + 1 < condition.first_seq)) {
    return damage(
        "the records before " + std::to_string(condition.first_seq) + " are gone, and no snapshot stands for them",
        path);
  }
  std::vector<std::string> digests;
  {
    auto statement = reader.prepared("SELECT digest FROM blobs ORDER BY digest");
    if (!statement) return std::unexpected(statement.error());
    for (;;) {
      const auto more = (*statement)->step("read the blobs");
      if (!more) return std::unexpected(more.error());
      if (!*more) break;
      digests.emplace_back((*statement)->bytes(0));
    }
  }
  for (const auto& digest : digests) {
    auto stored = sqlite::fetch_blob(reader, digest);
    if (!stored) return std::unexpected(stored.error());
    if (!*stored) return damage("blob " + digest + " is missing", path);
    if (const auto whole = unpack(digest, std::move(**stored)); !whole) return std::unexpected(whole.error());
    ++condition.blobs;
  }
  return {};
}

}  // namespace

Result<StoreCondition> check_sqlite_store(const std::filesystem::path& path) {
  const auto file = sqlite::find_store_file(path, false);
  if (!file) return std::unexpected(file.error());
  const auto mark = sqlite::HighWaterMark::read(*file);  // before the records: a service may be adding some
  if (!mark) return std::unexpected(mark.error());
  auto reader = open_for_reading(*file);
  if (!reader) return std::unexpected(reader.error());
  if (auto begun = reader->execute("BEGIN", "read the store as of one moment"); !begun)
    return std::unexpected(begun.error());
  const auto structure = reader->text("PRAGMA integrity_check(1)");
  if (!structure) return std::unexpected(structure.error());
  if (*structure != "ok") return damage(*structure, *file);
  StoreCondition condition;
  const auto number = [&](const char* sql) -> Result<std::uint64_t> {
    const auto value = reader->integer(sql);
    if (!value) return std::unexpected(value.error());
    return static_cast<std::uint64_t>(*value);
  };
  const auto last = number("SELECT max(seq) FROM journal");
  const auto floor = number("SELECT seq FROM journal_floor");
  const auto pages = number("PRAGMA page_count");
  const auto page_bytes = number("PRAGMA page_size");
  for (const auto* read : {&last, &floor, &pages, &page_bytes}) {
    if (!*read) return std::unexpected(read->error());
  }
  condition.last_seq = *last;
  condition.first_seq = *last == 0 ? 0 : *floor + 1;
  condition.bytes = *pages * *page_bytes;
  if (auto checked = check_records(*reader, condition, *file); !checked) return std::unexpected(checked.error());
  if (auto checked = check_documents(*reader, condition, *file); !checked) return std::unexpected(checked.error());
  if (auto checked = sqlite::check_mark(*file, *mark, condition.last_seq); !checked)
    return std::unexpected(checked.error());
  return condition;
}

Result<void> back_up_sqlite_store(const std::filesystem::path& path, const std::filesystem::path& to) {
  const auto file = sqlite::find_store_file(path, false);
  if (!file) return std::unexpected(file.error());
  std::error_code error;
  if (std::filesystem::exists(to, error) || error) {
    return fail(ErrorKind::conflict, "db.exists", "the backup's file is there already", to.string(),
                "name a new file, or remove this one first");
  }
  auto reader = open_for_reading(*file);
  if (!reader) return std::unexpected(reader.error());
  {
    auto statement = reader->prepared("VACUUM INTO ?1");
    if (!statement) return std::unexpected(statement.error());
    const std::string name = std::filesystem::absolute(to).string();
    (*statement)->bind_text(1, name);
    if (auto ran = (*statement)->run("copy the store"); !ran) return ran;
  }
  const int copy = ::open(to.c_str(), O_RDONLY | O_CLOEXEC);
  if (copy < 0) return sqlite::system_failure("open the backup", errno, to);
  const int synced = ::fsync(copy);
  const int failure = errno;
  ::close(copy);
  if (synced != 0) return sqlite::system_failure("sync the backup", failure, to);
  return {};
}

}  // namespace railweave::db
