// The rules of journal.h that need no database: every store checks them with these functions, before it writes and
// after it reads. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/journal.h"
#include "db/stored.h"

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

// The row of that number, if it is there; an error of code db.damaged is a damaged record.
using FetchOne = std::function<Result<std::optional<StoredRecord>>(std::uint64_t seq)>;

// What a read answers of the rows that were fetched: each unpacked, and the rule above, for records after `floor`; damaged and
// missing ones as the filter says.
Result<std::vector<Record>> unpack_records(const ReadFilter& filter, std::vector<StoredRecord>&& stored, bool cut_short,
                                           std::uint64_t floor, std::uint64_t last_seq, const FetchOne& fetch_one);

// The same where the rows cannot be fetched together, as the store itself fails at one of them: one by one, in the order of
// seq.
Result<std::vector<Record>> read_one_by_one(const ReadFilter& filter, std::uint64_t floor, std::uint64_t last_seq,
                                            const FetchOne& fetch_one);

// On opening a store: db.damaged where a snapshot lies beyond the journal's end, for then records are lost.
Result<void> check_not_cut(std::uint64_t last_seq, const std::vector<std::uint64_t>& snapshots,
                           const std::string& location);

}  // namespace railweave::db
