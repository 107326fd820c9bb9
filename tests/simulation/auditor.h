// Follows the store from outside: replays every record as it becomes durable, and says whether what it adds up to keeps
// the promises. Its book of reservations follows the same records one by one, as a service's does.
#pragma once

#include <map>
#include <set>
#include <string>

#include "services/control/codec/journal_codec.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/guarantee_book.h"
#include "tests/simulation/simulated_store.h"
#include "tests/simulation/table_walk.h"
#include "tests/simulation/trace.h"

namespace railweave::simulation {

class Auditor {
 public:
  Auditor(const SimulatedStore& store, Trace& trace) : store_(store), trace_(trace) {}

  // Replays what is new. "" or what is wrong with it: all of these return that.
  std::string follow();
  // A published state of that moment is what the records give.
  [[nodiscard]] std::string compare(const control::ClusterState& published, const char* whose) const;
  // GPUs have one owner; the ledger is the sum of what jobs reserve; guarantees at risk have an alarm.
  std::string check_state();
  // No packet loops, and what is called drained carries none.
  [[nodiscard]] std::string check_fabric(SimulatedFabric& fabric);

  [[nodiscard]] const control::ClusterState& state() const { return state_; }
  [[nodiscard]] std::string state_text() const { return codec_.encode_state(state_); }
  // By name; names are given once.
  [[nodiscard]] std::size_t jobs_called(const std::string& name) const;

 private:
  [[nodiscard]] std::string check_gpus() const;
  std::string check_ledger();
  [[nodiscard]] std::string check_alarms() const;

  const SimulatedStore& store_;
  Trace& trace_;
  api::JournalCodec codec_;
  control::ClusterState state_;
  control::GuaranteeBook book_;
  std::map<std::string, std::set<control::JobId>> jobs_by_name_;
  std::uint64_t checked_seq_ = 0;     // the state as of which everything was found in order
  std::uint64_t walked_changes_ = 0;  // of the fabric, and drains as of walked_seq_
  std::uint64_t walked_seq_ = 0;
};

}  // namespace railweave::simulation
