// Changing the reporting tables of an SQLite store that no service has.
#pragma once

#include <filesystem>
#include <memory>

#include "db/report_rebuild.h"

namespace railweave::db {

// Errors: db.locked (a service has the store), db.older, db.newer, and those of opening.
Result<std::unique_ptr<ReportRebuild>> rebuild_sqlite_reports(const std::filesystem::path& path);

}  // namespace railweave::db
