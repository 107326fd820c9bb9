// Changes rows of a store's reporting tables, all or nothing, while no service writes it.
#pragma once

#include <string>
#include <vector>

#include "db/journal.h"

namespace railweave::db {

// Not thread-safe. No service can begin to write the store while this lives; what was done is gone unless finish() returned
// without an error.
class ReportRebuild {
 public:
  ReportRebuild() = default;
  ReportRebuild(const ReportRebuild&) = delete;
  ReportRebuild& operator=(const ReportRebuild&) = delete;
  virtual ~ReportRebuild() = default;

  [[nodiscard]] virtual Result<void> put(const std::vector<ReportRow>& rows) = 0;
  // The row that has this value in this column, which is the primary key.
  [[nodiscard]] virtual Result<void> remove(const std::string& table, const std::string& column, const Value& key) = 0;
  // Durable when it returns.
  [[nodiscard]] virtual Result<void> finish() = 0;
};

}  // namespace railweave::db
