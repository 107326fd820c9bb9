#include "services/railweave/admin/report_check.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "db/sqlite/sqlite_image.h"
#include "services/control/codec/record_chain.h"
#include "services/control/codec/report_rows.h"

namespace railweave::cli {
namespace {

constexpr const char* kAuditTrail = "audit_trail";

// Removed with what is in it.
class TemporaryFolder {
 public:
  static Result<std::unique_ptr<TemporaryFolder>> make() {
    std::error_code error;
    std::string path = (std::filesystem::temp_directory_path(error) / "railweave-check-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr) {
      return fail(ErrorKind::unavailable, "admin.noTemporaryFolder", "there is no folder for what the journal leads to",
                  path, "set TMPDIR to one that can be written");
    }
    return std::make_unique<TemporaryFolder>(std::move(path));
  }
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Rows of one table in the order of their key.
class Rows {
 public:
  Rows() = default;
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  virtual ~Rows() = default;

  // Null: the end.
  Result<const db::ReportRow*> peek() {
    if (at_ == page_.size()) {
      at_ = 0;
      auto next = next_page();
      if (!next) return std::unexpected(next.error());
      page_ = std::move(*next);
    }
    return page_.empty() ? nullptr : &page_[at_];
  }
  void advance() { ++at_; }

 private:
  virtual Result<std::vector<db::ReportRow>> next_page() = 0;

  std::vector<db::ReportRow> page_;
  std::size_t at_ = 0;
};

class StoredRows final : public Rows {
 public:
  explicit StoredRows(std::unique_ptr<db::ReportPages> pages) : pages_(std::move(pages)) {}

 private:
  Result<std::vector<db::ReportRow>> next_page() override { return pages_->next(); }
  std::unique_ptr<db::ReportPages> pages_;
};

// The audit trail as the journal's records say it: no state is needed for it. On the way, that each record was written after the
// one before it.
class JournalRows final : public Rows {
 public:
  JournalRows(db::StoreImage& image, const std::optional<KnownHead>& known)
      : image_(image), known_(known), seq_(std::max<std::uint64_t>(first(image), 1) - 1) {}

  static std::uint64_t first(const db::StoreImage& image) { return image.extent().first_seq; }
  [[nodiscard]] const api::ChainCheck& chain() const { return chain_; }

 private:
  Result<std::vector<db::ReportRow>> next_page() override {
    std::vector<db::ReportRow> rows;
    if (seq_ >= image_.extent().last_seq) return rows;
    auto page = image_.records(seq_);
    if (!page) return std::unexpected(page.error());
    for (auto& stored : *page) {
      const auto record = db::unpack(std::move(stored));
      if (!record) return std::unexpected(record.error());
      if (auto followed = follow(*record); !followed) return std::unexpected(followed.error());
      seq_ = record->seq;
      auto row = api::audit_row(*record);
      if (!row) return std::unexpected(row.error());
      rows.push_back(std::move(*row));
    }
    return rows;
  }

  Result<void> follow(const db::Record& record) {
    const bool is_first = chain_.head().empty();
    if (!chain_.follow(record)) {
      return broken(fmt::format(
          "record {} was not written after record {} as it is: that one was changed, or records were removed or moved",
          record.seq, record.seq - 1));
    }
    if (!known_) return {};
    // What was removed before the first record that is kept is named by that.
    if (is_first && known_->seq + 1 == record.seq) return compare(api::digest_before(record).value_or(known_->digest));
    return known_->seq == record.seq ? compare(chain_.head()) : Result<void>();
  }
  Result<void> compare(const std::string& digest) const {
    if (digest == known_->digest) return {};
    return broken(
        fmt::format("record {} is another than it was: its digest is {}, not {}", known_->seq, digest, known_->digest));
  }
  [[nodiscard]] std::unexpected<Error> broken(const std::string& what) const {
    return fail(ErrorKind::internal, "db.chainBroken", what, image_.location(),
                "the journal was changed by another program than railweaved: compare it with a backup");
  }

  db::StoreImage& image_;
  const std::optional<KnownHead>& known_;
  api::ChainCheck chain_;
  std::uint64_t seq_;
};

const db::Value* value_of(const db::ReportRow& row, std::string_view column) {
  const auto at = std::ranges::find(row.columns, column, &std::pair<std::string, db::Value>::first);
  return at == row.columns.end() ? nullptr : &at->second;
}

std::string text_of(const db::Value& value) {
  constexpr std::size_t kMaxShown = 80;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) return std::to_string(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return "'" + text->substr(0, kMaxShown) + "'";
  return "NULL";
}

class TableComparison {
 public:
  // began: the row is of events that the journal has.
  TableComparison(std::string table, std::string key, std::function<bool(const db::ReportRow&)> began,
                  db::ReportRebuild* rebuild, ReportFindings& findings)
      : key_(std::move(key)), began_(std::move(began)), rebuild_(rebuild), findings_(findings) {
    found_.name = std::move(table);
  }

  Result<void> run(Rows& expected, Rows& stored) {
    while (true) {
      const auto wanted = expected.peek();
      if (!wanted) return std::unexpected(wanted.error());
      const auto there = stored.peek();
      if (!there) return std::unexpected(there.error());
      if (*wanted == nullptr && *there == nullptr) break;
      const int order = compare(*wanted, *there);
      Result<void> noted = order < 0   ? note_missing(**wanted)
                           : order > 0 ? note_unknown(**there)
                                       : match(**wanted, **there);
      if (!noted) return noted;
      if (order <= 0) expected.advance();
      if (order >= 0) stored.advance();
    }
    if (auto flushed = flush(); !flushed) return flushed;
    findings_.tables.push_back(std::move(found_));
    return {};
  }

 private:
  int compare(const db::ReportRow* wanted, const db::ReportRow* there) const {
    if (wanted == nullptr) return 1;
    if (there == nullptr) return -1;
    const db::Value& left = *value_of(*wanted, key_);
    const db::Value& right = *value_of(*there, key_);
    return left < right ? -1 : right < left ? 1 : 0;
  }

  void note(const db::ReportRow& row, const std::string& what) {
    if (findings_.first.size() >= ReportFindings::kMaxFirst) return;
    findings_.first.push_back(found_.name + " " + text_of(*value_of(row, key_)) + ": " + what);
  }

  Result<void> match(const db::ReportRow& wanted, const db::ReportRow& there) {
    for (const auto& [name, value] : wanted.columns) {
      const db::Value* stored = value_of(there, name);
      if (stored != nullptr && *stored == value) continue;
      ++found_.changed;
      note(there, name + " is " + (stored == nullptr ? "not there" : text_of(*stored)) + ", the journal says " +
                      text_of(value));
      return put(wanted);
    }
    ++found_.rows;
    return {};
  }
  Result<void> note_missing(const db::ReportRow& wanted) {
    ++found_.missing;
    note(wanted, "the row is missing");
    return put(wanted);
  }
  Result<void> note_unknown(const db::ReportRow& there) {
    if (!began_(there)) {
      ++found_.not_comparable;
      return {};
    }
    ++found_.invented;
    note(there, "no event of the journal has led to this row");
    return rebuild_ == nullptr ? Result<void>() : rebuild_->remove(found_.name, key_, *value_of(there, key_));
  }

  Result<void> put(const db::ReportRow& wanted) {
    constexpr std::size_t kRows = 1000;
    if (rebuild_ == nullptr) return {};
    rebuilt_.push_back(wanted);
    return rebuilt_.size() < kRows ? Result<void>() : flush();
  }
  Result<void> flush() {
    if (rebuild_ == nullptr) return {};
    auto put = rebuild_->put(rebuilt_);
    rebuilt_.clear();
    return put;
  }

  const std::string key_;
  const std::function<bool(const db::ReportRow&)> began_;
  db::ReportRebuild* const rebuild_;
  ReportFindings& findings_;
  ReportFindings::Table found_;
  std::vector<db::ReportRow> rebuilt_;
};

class ReportCheck {
 public:
  ReportCheck(db::StoreImage& image, const db::StoreProgress& progress, db::ReportRebuild* rebuild,
              const std::optional<KnownHead>& known)
      : image_(image), progress_(progress), rebuild_(rebuild), known_(known) {}

  Result<CheckedStore> run() {
    if (known_ && known_->seq > image_.extent().last_seq) {
      return fail(ErrorKind::internal, "db.chainBroken",
                  fmt::format("the journal ends at record {}, before record {}, which it had", image_.extent().last_seq,
                              known_->seq),
                  image_.location(), "records were removed: compare it with a backup");
    }
    const auto folder = TemporaryFolder::make();
    if (!folder) return std::unexpected(folder.error());
    const auto path = (*folder)->path() / "expected.db";
    if (auto written = write_expected(path); !written) return std::unexpected(written.error());
    const auto expected = db::open_sqlite_image(path);
    if (!expected) return std::unexpected(expected.error());
    for (const auto& [table, columns] : image_.report_schema().tables()) {
      if (auto compared = compare(table, columns, **expected); !compared) return std::unexpected(compared.error());
    }
    return checked_;
  }

 private:
  Result<void> write_expected(const std::filesystem::path& path) {
    constexpr std::size_t kRows = 1000;
    const auto made = db::make_sqlite_store(path);
    if (!made) return std::unexpected(made.error());
    db::Batch batch;
    const auto flush = [&]() -> Result<void> {
      auto added = (*made)->add(batch);
      batch.reports.clear();
      return added;
    };
    auto replayed = replay_store(image_, progress_, [&](std::vector<db::ReportRow>&& rows) -> Result<void> {
      for (auto& row : rows) batch.reports.push_back(std::move(row));
      return batch.reports.size() < kRows ? Result<void>() : flush();
    });
    if (!replayed) return std::unexpected(replayed.error());
    checked_.replayed = *replayed;
    if (auto flushed = flush(); !flushed) return flushed;
    return (*made)->finish();
  }

  Result<void> compare(const std::string& table, const db::ReportColumns& columns, db::StoreImage& expected) {
    if (progress_) progress_("reporting tables compared", checked_.reports.tables.size(), 0);
    auto pages = image_.report_pages(table);
    if (!pages) return std::unexpected(pages.error());
    StoredRows stored(std::move(*pages));
    const auto key = std::ranges::find_if(columns, [](const auto& column) { return column.second.primary_key; })->first;
    if (table == kAuditTrail) {
      JournalRows wanted(image_, known_);
      const auto first = static_cast<std::int64_t>(JournalRows::first(image_));
      const auto began = [first](const db::ReportRow& row) {
        return std::get<std::int64_t>(*value_of(row, "seq")) >= first;
      };
      auto compared = TableComparison(table, key, began, rebuild_, checked_.reports).run(wanted, stored);
      checked_.head = wanted.chain().head();
      checked_.linked = wanted.chain().linked();
      return compared;
    }
    auto wanted_pages = expected.report_pages(table);
    if (!wanted_pages) return std::unexpected(wanted_pages.error());
    StoredRows wanted(std::move(*wanted_pages));
    const auto began = [this](const db::ReportRow& row) { return api::began_after(checked_.replayed.start, row); };
    return TableComparison(table, key, began, rebuild_, checked_.reports).run(wanted, stored);
  }

  db::StoreImage& image_;
  const db::StoreProgress& progress_;
  db::ReportRebuild* const rebuild_;
  const std::optional<KnownHead>& known_;
  CheckedStore checked_;
};

}  // namespace

std::uint64_t ReportFindings::differing() const {
  std::uint64_t rows = 0;
  for (const auto& table : tables) rows += table.changed + table.missing + table.invented;
  return rows;
}

std::uint64_t ReportFindings::not_comparable() const {
  std::uint64_t rows = 0;
  for (const auto& table : tables) rows += table.not_comparable;
  return rows;
}

Result<CheckedStore> check_reports(db::StoreImage& image, const db::StoreProgress& progress, db::ReportRebuild* rebuild,
                                   const std::optional<KnownHead>& known) {
  return ReportCheck(image, progress, rebuild, known).run();
}

}  // namespace railweave::cli
