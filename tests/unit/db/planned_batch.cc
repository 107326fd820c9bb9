#include "tests/unit/db/planned_batch.h"

#include <random>

#include "db/limits.h"
#include "tests/unit/db/sample_records.h"

namespace railweave::db {

Batch planned_batch(std::uint64_t seed, std::uint64_t first) {
  std::mt19937_64 random(seed * 1'000'003 + first);
  Batch batch = sample_batch(first, 1 + random() % 24);
  for (Record& record : batch.records) {
    record.payload =
        random_text(random() % 60 == 0 ? kCompressAboveBytes + 1 + random() % 100'000 : random() % 600, random());
  }
  if (random() % 4 == 0) batch.blobs.push_back({sample_digest(first), random_bytes(random() % 200'000, first)});
  if (random() % 2 == 0) {
    batch.reports.push_back({"audit_trail",
                             {{"seq", static_cast<std::int64_t>(batch.records.back().seq)},
                              {"summary", "batch from " + std::to_string(first)}}});
  }
  return batch;
}

std::optional<Snapshot> planned_snapshot(std::uint64_t seed, std::uint64_t last) {
  std::mt19937_64 random(seed * 999'983 + last);
  if (random() % 6 != 0) return std::nullopt;
  return Snapshot{last, 1, static_cast<std::int64_t>(last), 1, random_text(random() % 500'000, random())};
}

}  // namespace railweave::db
