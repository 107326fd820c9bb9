// A journal whose every byte follows from a seed: what a process that may be killed writes, and what must then be
// found. The batch that starts at record `first` is the same in every process.
#pragma once

#include <cstdint>
#include <optional>

#include "db/journal.h"

namespace railweave::db {

// 1 to 24 records, sometimes of more than kCompressAboveBytes, sometimes with a blob and a row of audit_trail (seq: the
// batch's last).
Batch planned_batch(std::uint64_t seed, std::uint64_t first);

// After the batch that ends at `last`, now and then.
std::optional<Snapshot> planned_snapshot(std::uint64_t seed, std::uint64_t last);

}  // namespace railweave::db
