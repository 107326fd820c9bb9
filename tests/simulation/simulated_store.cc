#include "tests/simulation/simulated_store.h"

#include <algorithm>

#include "db/journal_rules.h"

namespace railweave::simulation {
namespace {

Error gone(const char* what) { return {ErrorKind::unavailable, "db.cannotConnect", what, {}, {}}; }

}  // namespace

SimulatedStore::Fault SimulatedStore::take_fault() {
  if (faults_left == 0) return Fault::none;
  --faults_left;
  return fault_now;
}

Result<void> SimulatedJournal::reach() const {
  if (is_dead_) return std::unexpected(gone("the service is dead"));
  if (!store_.is_reachable || store_.time.now_us() < cut_off_until_us_) {
    return std::unexpected(gone("the store cannot be reached"));
  }
  return {};
}

Result<bool> SimulatedJournal::try_lead() {
  awaits_.at(Awaits::Place::take_lease);
  if (auto reached = reach(); !reached) return std::unexpected(reached.error());
  if (store_.time.now_us() < store_.lease_until_us) return false;
  term_ = ++store_.term;
  store_.lease_until_us = until_us_ = store_.time.now_us() + SimulatedStore::kLeaseUs;
  awaits_.at(Awaits::Place::lease_taken);
  return true;
}

Result<bool> SimulatedJournal::wait_for_news(std::chrono::milliseconds /*at_most*/) {
  if (auto reached = reach(); !reached) return std::unexpected(reached.error());
  return store_.time.now_us() >= store_.lease_until_us;
}

void SimulatedJournal::renew() {
  if (term_ == 0 || is_deposed_ || !reach()) return;
  if (until_us_ - store_.time.now_us() > SimulatedStore::kLeaseUs * 2 / 3) return;
  if (has_successor()) {
    is_deposed_ = true;
    return;
  }
  store_.lease_until_us = until_us_ = store_.time.now_us() + SimulatedStore::kLeaseUs;
}

void SimulatedJournal::give_back() {
  if (term_ != 0 && reach() && !has_successor()) store_.lease_until_us = 0;
}

Result<void> SimulatedJournal::hold_lease() {
  if (auto reached = reach(); !reached) return reached;
  if (term_ == 0) return fail(ErrorKind::unavailable, "db.notLeader", "another process leads");
  if (!has_successor()) return {};
  is_deposed_ = true;
  return fail(ErrorKind::unavailable, "db.deposed", "another writer has taken over");
}

void SimulatedJournal::keep(const db::Batch& batch) {
  if (has_successor())
    store_.fault = "records of term " + std::to_string(term_) + " are stored in " + std::to_string(store_.term) +
                   ", which another leads";
  store_.records.insert(store_.records.end(), batch.records.begin(), batch.records.end());
  for (const auto& blob : batch.blobs) store_.blobs.emplace(blob.digest, blob.bytes);
}

Result<void> SimulatedJournal::append(const db::Batch& batch) {
  awaits_.at(Awaits::Place::append);
  const auto fault = store_.take_fault();
  if (fault == SimulatedStore::Fault::hangs) {
    store_.is_reachable = false;
    store_.time.pass(store_.hang_us);
    store_.is_reachable = true;
    renew();
  }
  if (auto held = hold_lease(); !held) return held;
  if (auto checked = db::check_batch(batch); !checked) return checked;
  const std::uint64_t last = store_.records.size();
  const std::uint64_t last_term = store_.records.empty() ? 0 : store_.records.back().term;
  if (auto checked = db::check_continues(batch.records, last, last_term); !checked) return checked;
  if (fault == SimulatedStore::Fault::refuses) return std::unexpected(gone("the store refuses"));
  if (fault == SimulatedStore::Fault::in_doubt) {
    if (store_.random.one_in(2)) keep(batch);
    return std::unexpected(gone("the connection was lost in the commit"));
  }
  keep(batch);
  awaits_.at(Awaits::Place::appended);
  return {};
}

Result<std::vector<db::Record>> SimulatedJournal::read(const db::ReadFilter& filter) {
  awaits_.at(Awaits::Place::read_store);
  if (auto reached = reach(); !reached) return std::unexpected(reached.error());
  std::vector<db::Record> found;
  for (std::uint64_t seq = filter.after_seq; seq < store_.records.size() && found.size() < filter.limit; ++seq) {
    found.push_back(store_.records[seq]);
  }
  return found;
}

Result<std::uint64_t> SimulatedJournal::last_seq() {
  if (auto reached = reach(); !reached) return std::unexpected(reached.error());
  return store_.records.size();
}

Result<void> SimulatedJournal::save_snapshot(const db::Snapshot& snapshot) {
  awaits_.at(Awaits::Place::snapshot);
  if (auto held = hold_lease(); !held) return held;
  if (snapshot.seq > store_.records.size()) return fail(ErrorKind::conflict, "db.snapshotAhead", "beyond the journal");
  std::erase_if(store_.snapshots, [&](const auto& kept) { return kept.seq == snapshot.seq; });
  store_.snapshots.push_back(snapshot);
  if (store_.snapshots.size() > 2) store_.snapshots.erase(store_.snapshots.begin());
  awaits_.at(Awaits::Place::snapshot_saved);
  return {};
}

Result<std::optional<db::Snapshot>> SimulatedJournal::latest_snapshot() {
  awaits_.at(Awaits::Place::read_store);
  if (auto reached = reach(); !reached) return std::unexpected(reached.error());
  if (store_.snapshots.empty()) return std::nullopt;
  return store_.snapshots.back();
}

Result<std::optional<std::string>> SimulatedJournal::blob(const std::string& digest) {
  const auto found = store_.blobs.find(digest);
  return found == store_.blobs.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace railweave::simulation
