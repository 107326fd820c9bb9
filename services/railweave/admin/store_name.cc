#include "services/railweave/admin/store_name.h"

#include <string_view>
#include <utility>

#include "db/postgres/postgres_image.h"
#include "db/postgres/postgres_journal.h"
#include "db/postgres/postgres_rebuild.h"
#include "db/sqlite/sqlite_image.h"
#include "db/sqlite/sqlite_rebuild.h"
#include "db/sqlite/store_check.h"
#include "services/railweave/admin/backup_digest.h"

namespace railweave::cli {

StoreName::StoreName(std::string text) : place_(std::move(text)) {
  constexpr std::string_view kSqlite = "sqlite:";
  postgres_ = db::is_postgres_url(place_);
  if (place_.starts_with(kSqlite)) place_.erase(0, kSqlite.size());
}

std::string StoreName::text() const { return postgres_ ? db::redacted_url(place_) : place_; }

Result<std::unique_ptr<db::StoreImage>> StoreName::image() const {
  return postgres_ ? db::open_postgres_image(place_) : db::open_sqlite_image(place_);
}

Result<std::unique_ptr<db::StoreImport>> StoreName::import() const {
  return postgres_ ? db::import_postgres_store(place_) : db::make_sqlite_store(place_);
}

Result<std::unique_ptr<db::ReportRebuild>> StoreName::rebuild() const {
  return postgres_ ? db::rebuild_postgres_reports(place_) : db::rebuild_sqlite_reports(place_);
}

Result<bool> StoreName::check_digest() const {
  if (postgres_) return false;
  return check_backup_digest(place_);
}

Result<void> StoreName::write_digest() const {
  if (postgres_) return {};
  return write_backup_digest(place_);
}

Result<db::StoreContents> StoreName::check(const db::StoreProgress& progress) const {
  if (const auto same = check_digest(); !same) return std::unexpected(same.error());
  if (!postgres_) return db::check_sqlite_store(place_, progress);
  const auto opened = image();
  if (!opened) return std::unexpected(opened.error());
  return db::read_store(**opened, progress);
}

}  // namespace railweave::cli
