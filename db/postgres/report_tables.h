// The reporting tables' schema as a database has it.
#pragma once

#include "db/postgres/session.h"
#include "db/report_schema.h"

namespace railweave::db::postgres {

Result<ReportSchema> load_report_schema(Session& session);

}  // namespace railweave::db::postgres
