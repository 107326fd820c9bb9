// The rules of journal.h that need no database: every store checks them with these functions, before it writes and
// after it reads. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "db/journal.h"

namespace railweave::db {

// Sizes, text, digests; records continuing each other. That they continue the journal is check_continues.
Result<void> check_batch(const Batch& batch);

// `records` (not empty) after a journal that ends with last_seq, last_term.
Result<void> check_continues(const std::vector<Record>& records, std::uint64_t last_seq, std::uint64_t last_term);

Result<void> check_snapshot(const Snapshot& snapshot);
Result<void> check_filter(const ReadFilter& filter);
bool is_digest(std::string_view digest);

// After a read without filters on kind or subject: `records` follow after_seq without a gap and, unless `cut_short` (by
// a limit), reach min(up_to_seq, last_seq), where last_seq was the journal's end before the read.
Result<void> check_complete(const ReadFilter& filter, const std::vector<Record>& records, bool cut_short,
                            std::uint64_t last_seq);

// On opening a store: db.damaged where a snapshot lies beyond the journal's end, for then records are lost.
Result<void> check_not_cut(std::uint64_t last_seq, const std::vector<std::uint64_t>& snapshots,
                           const std::string& location);

}  // namespace railweave::db
