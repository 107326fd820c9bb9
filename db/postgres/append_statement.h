// A batch as one statement, so that it is one round trip and one transaction: the lease is checked FOR SHARE, and where it
// holds, records and report rows are inserted from arrays, one per column, or from single values where
// there is one row of each table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/journal.h"
#include "db/report_schema.h"
#include "db/stored.h"

namespace railweave::db::postgres {

struct Fence {
  std::string holder;
  std::uint64_t term = 0;
  // The journal's last record, which the server must have; 0: it is known to, or the journal is empty.
  std::uint64_t after_seq = 0, after_term = 0;
};

// Its result is one row and column: 1 where the lease is held on this journal and all was stored, else 0.
struct AppendStatement {
  std::string sql;                      // few texts: by sets of report columns, and one row of each or more
  std::vector<std::string> parameters;  // binary
};

// Appends a batch that was checked, without its blobs.
AppendStatement append_statement(const Batch& batch, const PackedBatch& packed, std::int64_t nonce, const Fence& fence,
                                 const ReportSchema& schema);

}  // namespace railweave::db::postgres
