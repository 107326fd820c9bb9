// Changing the reporting tables of a PostgreSQL store that no service leads.
#pragma once

#include <memory>
#include <string>

#include "db/report_rebuild.h"

namespace railweave::db {

// Errors: db.locked (a service leads), and those of connecting.
Result<std::unique_ptr<ReportRebuild>> rebuild_postgres_reports(const std::string& url);

}  // namespace railweave::db
