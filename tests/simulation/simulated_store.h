// A store in memory that outlives the services that use it: records, snapshots, documents and the lease of who may
// write, as the PostgreSQL store has them. What append() promised is kept; of a batch whose append() failed or never
// returned, the seed decides.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "db/shared_journal.h"
#include "tests/simulation/awaits.h"
#include "tests/simulation/random.h"
#include "tests/simulation/simulated_time.h"

namespace railweave::simulation {

struct SimulatedStore {
  static constexpr std::int64_t kLeaseUs = 5'000'000;
  enum class Fault : std::uint8_t { none, refuses, in_doubt, hangs };

  explicit SimulatedStore(SimulatedTime& clock, std::uint64_t seed) : time(clock), random(seed) {}

  SimulatedTime& time;
  Random random;
  std::vector<db::Record> records;
  std::vector<db::Snapshot> snapshots;  // the newest last
  std::map<std::string, std::string> blobs;
  std::uint64_t term = 0;  // of who leads
  std::int64_t lease_until_us = 0;
  Fault fault_now = Fault::none;
  unsigned faults_left = 0;
  std::int64_t hang_us = 0;  // with `hangs`
  bool is_reachable = true;  // false: no lease is renewed
  std::string fault;         // what a store must never see: records of one who does not lead
  [[nodiscard]] Fault take_fault();
};

// One service's connection to it. Follows until it takes the lease, when that of another has expired.
class SimulatedJournal final : public db::SharedJournal {
 public:
  SimulatedJournal(SimulatedStore& store, Awaits& awaits) : store_(store), awaits_(awaits) {}

  Result<void> append(const db::Batch& batch) override;
  Result<std::vector<db::Record>> read(const db::ReadFilter& filter) override;
  Result<std::uint64_t> last_seq() override;
  Result<void> save_snapshot(const db::Snapshot& snapshot) override;
  Result<std::optional<db::Snapshot>> latest_snapshot() override;
  Result<std::optional<std::string>> blob(const std::string& digest) override;
  [[nodiscard]] bool leads() const override { return !is_deposed_ && store_.time.now_us() < until_us_; }
  Result<bool> try_lead() override;
  Result<bool> wait_for_news(std::chrono::milliseconds at_most) override;

  // As the lease's own thread does, while the service is not suspended.
  void renew();
  void give_back();
  void die() { is_dead_ = true; }
  [[nodiscard]] std::uint64_t term() const override { return term_; }
  // Of a service that has led; a follower has none.
  [[nodiscard]] bool has_successor() const { return store_.term != term_; }
  [[nodiscard]] bool is_deposed() const { return is_deposed_; }
  // Nothing reaches the store for a while.
  void cut_off(std::int64_t for_us) { cut_off_until_us_ = store_.time.now_us() + for_us; }
  void reconnect() { cut_off_until_us_ = 0; }

 private:
  [[nodiscard]] Result<void> reach() const;
  [[nodiscard]] Result<void> hold_lease();
  void keep(const db::Batch& batch);

  SimulatedStore& store_;
  Awaits& awaits_;
  std::uint64_t term_ = 0;  // 0: it has never led
  std::int64_t until_us_ = 0, cut_off_until_us_ = 0;
  bool is_deposed_ = false, is_dead_ = false;
};

}  // namespace railweave::simulation
