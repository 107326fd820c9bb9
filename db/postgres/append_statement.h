// A batch as one statement, so that it is one round trip and one transaction: the lease is checked FOR SHARE, and where it
// holds, records and report rows are inserted from arrays, one per column.
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
  std::uint64_t after_seq = 0, after_term = 0;  // the journal's last record; 0: it may be empty
};

// Its result is one row: is the lease held on this journal, how many records were stored.
struct AppendStatement {
  std::string sql;                      // as many texts as there are sets of report columns
  std::vector<std::string> parameters;  // binary
};

// Of a batch that was checked; its blobs are not in it.
AppendStatement append_statement(const Batch& batch, const PackedBatch& packed, std::int64_t nonce, const Fence& fence,
                                 const ReportSchema& schema);

}  // namespace railweave::db::postgres
