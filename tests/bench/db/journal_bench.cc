// The store's costs, on the file system of the build directory: a durable append waits for its disk.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <benchmark/benchmark.h>

#include "db/replay.h"
#include "db/sqlite/sqlite_journal.h"

namespace railweave::db {
namespace {

// A fresh store; ends the program when it fails.
class BenchStore {
 public:
  BenchStore() {
    std::string name = std::string(RAILWEAVE_BINARY_DIR) + "/bench-db-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    directory_ = name;
    reopen();
  }
  BenchStore(const BenchStore&) = delete;
  BenchStore& operator=(const BenchStore&) = delete;
  ~BenchStore() {
    journal_.reset();
    std::filesystem::remove_all(directory_);
  }
  void reopen() {
    journal_.reset();
    journal_ = need(open_sqlite_journal(directory_ / "railweave.db"));
  }
  Journal& operator*() { return *journal_; }
  Journal* operator->() { return journal_.get(); }

  template <class T>
  static T need(Result<T> result) {
    if (!result) {
      std::fprintf(stderr, "%s\n", result.error().text().c_str());
      std::abort();
    }
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }

 private:
  std::filesystem::path directory_;
  std::unique_ptr<Journal> journal_;
};

// A job's placement on 8 GPUs is about this much JSON.
constexpr std::size_t kPayloadBytes = 600;

Batch placements(std::uint64_t first, std::size_t size) {
  Batch batch;
  for (std::size_t i = 0; i < size; ++i) {
    Record record;
    record.seq = first + i;
    record.term = 1;
    record.time_us = 1'700'000'000'000'000 + static_cast<std::int64_t>(record.seq);
    record.actor = "tenant-" + std::to_string(record.seq % 10);
    record.kind = record.seq % 1000 == 0 ? "tenant.created" : record.seq % 2 == 0 ? "job.placed" : "job.ended";
    record.subject_kind = "job";
    record.subject_id = "job-" + std::to_string(record.seq / 2);
    while (record.payload.size() < kPayloadBytes)
      record.payload += R"({"rank":12,"node":"node-1047","gpu":3,"nic":"mlx5_3"},)";
    batch.records.push_back(std::move(record));
    batch.reports.push_back(
        {"job_history", {{"id", batch.records.back().subject_id}, {"tenant", "physics"}, {"gpus", std::int64_t{8}}}});
  }
  return batch;
}

void fill(BenchStore& store, std::uint64_t records) {
  for (std::uint64_t first = 1; first <= records; first += 10'000) {
    BenchStore::need(store->append(placements(first, std::min<std::uint64_t>(10'000, records - first + 1))));
  }
}

// Records with one row of job_history each, in batches of range(0).
void durable_append(benchmark::State& state) {
  BenchStore store;
  const auto size = static_cast<std::size_t>(state.range(0));
  std::uint64_t seq = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const Batch batch = placements(seq + 1, size);
    state.ResumeTiming();
    BenchStore::need(store->append(batch));
    seq += size;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(seq));
}
BENCHMARK(durable_append)->RangeMultiplier(4)->Range(1, 1024)->UseRealTime()->Unit(benchmark::kMicrosecond);

// Opening a store and reading all its range(0) records.
void open_and_replay(benchmark::State& state) {
  BenchStore store;
  fill(store, static_cast<std::uint64_t>(state.range(0)));
  for (auto _ : state) {
    store.reopen();
    std::size_t bytes = 0;
    BenchStore::need(replay(*store, 0, [&](const Record& record) -> Result<void> {
      bytes += record.payload.size();
      return {};
    }));
    benchmark::DoNotOptimize(bytes);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(open_and_replay)->Arg(10'000)->Arg(100'000)->UseRealTime()->Unit(benchmark::kMillisecond);

// 100 records after the middle of a journal of range(0).
enum class Filter { none, one_kind, rare_kind, three_kinds, one_job };
void filtered_read(benchmark::State& state, Filter which) {
  BenchStore store;
  const auto records = static_cast<std::uint64_t>(state.range(0));
  fill(store, records);
  ReadFilter filter;
  filter.after_seq = records / 2;
  filter.limit = 100;
  if (which == Filter::one_kind) filter.kinds = {"job.placed"};
  if (which == Filter::rare_kind) filter.kinds = {"tenant.created"};
  if (which == Filter::three_kinds) filter.kinds = {"job.placed", "job.ended", "tenant.created"};
  if (which == Filter::one_job) {
    filter.subject_kind = "job";
    filter.subject_id = "job-" + std::to_string(records / 2 - 2);
  }
  for (auto _ : state) benchmark::DoNotOptimize(BenchStore::need(store->read(filter)).size());
}
#define RAILWEAVE_FILTERED_READ(name) \
  BENCHMARK_CAPTURE(filtered_read, name, Filter::name)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMicrosecond)
RAILWEAVE_FILTERED_READ(none);
RAILWEAVE_FILTERED_READ(one_kind);
RAILWEAVE_FILTERED_READ(rare_kind);
RAILWEAVE_FILTERED_READ(three_kinds);
RAILWEAVE_FILTERED_READ(one_job);

// A topology-like document of about range(0) MB; `salt` makes it another one.
std::string document(std::int64_t megabytes, std::uint64_t salt) {
  std::string text = R"({"salt":)" + std::to_string(salt) + R"(,"hosts":[)";
  const auto size = static_cast<std::size_t>(megabytes) << 20U;
  for (std::uint64_t i = 0; text.size() < size; ++i) {
    text += R"({"name":"node-)" + std::to_string(i) + R"(","guid":")" + std::to_string(i * 0x9E3779B97F4A7C15U) +
            R"(","rack":")" + std::to_string(i / 32) + R"(","gpus":8},)";
  }
  return text;
}

std::string digest(std::uint64_t number) {
  std::string text = std::to_string(number);
  return std::string(64 - text.size(), '0') + text;
}

void blob_put(benchmark::State& state) {
  BenchStore store;
  Batch batch;
  batch.blobs.push_back({{}, document(state.range(0), 1)});
  std::uint64_t number = 0;
  for (auto _ : state) {
    batch.blobs[0].digest = digest(++number);
    BenchStore::need(store->append(batch));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(batch.blobs[0].bytes.size()));
}
BENCHMARK(blob_put)->Arg(1)->Arg(50)->UseRealTime()->Unit(benchmark::kMillisecond);

void blob_get(benchmark::State& state) {
  BenchStore store;
  Batch batch;
  batch.blobs.push_back({digest(1), document(state.range(0), 1)});
  BenchStore::need(store->append(batch));
  for (auto _ : state) benchmark::DoNotOptimize(BenchStore::need(store->blob(digest(1)))->size());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(batch.blobs[0].bytes.size()));
}
BENCHMARK(blob_get)->Arg(1)->Arg(50)->UseRealTime()->Unit(benchmark::kMillisecond);

// Saving and loading the state, range(0) MB of it.
void snapshot_save(benchmark::State& state) {
  BenchStore store;
  Snapshot snapshot;
  snapshot.payload = document(state.range(0), 1);
  for (auto _ : state) BenchStore::need(store->save_snapshot(snapshot));
}
BENCHMARK(snapshot_save)->Arg(1)->Arg(20)->UseRealTime()->Unit(benchmark::kMillisecond);

void snapshot_load(benchmark::State& state) {
  BenchStore store;
  BenchStore::need(store->save_snapshot({0, 1, 0, 1, document(state.range(0), 1)}));
  for (auto _ : state) benchmark::DoNotOptimize(BenchStore::need(store->latest_snapshot())->payload.size());
}
BENCHMARK(snapshot_load)->Arg(1)->Arg(20)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railweave::db
