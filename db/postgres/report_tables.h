// The reporting tables' schema as a database has it, and their rows.
#pragma once

#include <vector>

#include "db/postgres/session.h"
#include "db/report_schema.h"

namespace railweave::db::postgres {

Result<ReportSchema> load_report_schema(Session& session);

Result<std::vector<ReportRow>> read_report(Session& session, const ReportSchema& schema, const ReportFilter& filter);

}  // namespace railweave::db::postgres
