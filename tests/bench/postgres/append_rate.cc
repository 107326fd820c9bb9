// postgres_append_rate URL BATCH SECONDS: appends batches of 600-byte records, one after the other, and prints batches per
// second and the median and 99th percentile in milliseconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "db/postgres/postgres_journal.h"

namespace railweave::db {
namespace {

constexpr std::size_t kPayloadBytes = 600;  // as pgbench's rows in postgres.py

Batch placements(std::uint64_t first, std::size_t size) {
  Batch batch;
  for (std::size_t i = 0; i < size; ++i) {
    Record record;
    record.seq = first + i;
    record.term = 1;
    record.kind = "job.placed";
    record.subject_kind = "job";
    record.subject_id = "job-" + std::to_string(record.seq);
    record.payload = std::string(kPayloadBytes, '{');
    batch.records.push_back(std::move(record));
  }
  return batch;
}

int measure(const std::string& url, std::size_t size, double seconds) {
  const auto journal = open_postgres_journal(url);
  if (!journal) {
    std::fprintf(stderr, "%s\n", journal.error().text().c_str());
    return 1;
  }
  std::uint64_t seq = (*journal)->last_seq().value_or(0);
  std::vector<double> times_ms;
  const auto start = std::chrono::steady_clock::now();
  const auto since = [](auto from) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  };
  double busy = 0;  // without the time to make the records
  while (since(start) < seconds) {
    const Batch batch = placements(seq + 1, size);
    const auto before = std::chrono::steady_clock::now();
    if (auto appended = (*journal)->append(batch); !appended) {
      std::fprintf(stderr, "%s\n", appended.error().text().c_str());
      return 1;
    }
    const double took = since(before);
    busy += took;
    times_ms.push_back(took * 1000);
    seq += size;
  }
  std::ranges::sort(times_ms);
  std::printf("%.1f %.3f %.3f\n", static_cast<double>(times_ms.size()) / busy, times_ms[times_ms.size() / 2],
              times_ms[times_ms.size() * 99 / 100]);
  return 0;
}

}  // namespace
}  // namespace railweave::db

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "postgres_append_rate URL BATCH SECONDS\n");
    return 2;
  }
  return railweave::db::measure(argv[1], std::strtoull(argv[2], nullptr, 10), std::strtod(argv[3], nullptr));
}
