// Follows the store from outside: replays every record as it becomes durable, and says whether what it adds up to keeps
// the promises. Its book of reservations follows the same records one by one, as a service's does.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "services/control/codec/journal_codec.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/guarantee_book.h"
#include "tests/simulation/simulated_fabric.h"
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
  // No packet loops, and what is called drained carries none. Subnets that must not be called synced: packets loop there
  // through a switch that cannot be told so.
  [[nodiscard]] std::string check_fabric(SimulatedFabric& fabric);
  [[nodiscard]] const std::map<std::string, std::string>& loops() const { return loops_; }  // by subnet

  [[nodiscard]] const control::ClusterState& state() const { return state_; }
  [[nodiscard]] std::string state_text() const { return codec_.encode_state(state_); }
  // Jobs whose ranks a repair has put on other GPUs since the last call.
  std::set<control::JobId> take_repaired() { return std::exchange(repaired_, {}); }
  // By name; names are given once.
  [[nodiscard]] std::size_t jobs_called(const std::string& name) const;

 private:
  [[nodiscard]] std::string check_gpus() const;
  std::string check_ledger();
  [[nodiscard]] std::string check_alarms() const;
  [[nodiscard]] std::string check_subnet(SimulatedSubnet& network);

  const SimulatedStore& store_;
  Trace& trace_;
  api::JournalCodec codec_;
  control::ClusterState state_;
  control::GuaranteeBook book_;
  std::map<std::string, std::set<control::JobId>> jobs_by_name_;
  std::set<control::JobId> repaired_;
  std::uint64_t checked_seq_ = 0;  // the state as of which everything was found in order
  // By subnet: changes of the fabric, and records (of drains), as of the last walk.
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> walked_;
  std::map<std::string, std::string> loops_;
};

}  // namespace railweave::simulation
