// Forwarding tables that live subnets' switches were seen to hold where they are not the wanted ones, in the numbers of
// the accepted topology. Controllers publish them here before they report them to the state (SubnetTables), so that
// whoever reads that state finds them by digest and reader. Thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fabric/routing/plane/routing_engine.h"
#include "services/control/state/subnet_tables.h"

namespace railweave::control {

struct SeenTables {
  std::string subnet, digest, reader;  // as SubnetTables
  fabric::ForwardingTables tables;     // of the whole accepted fabric; only `planes` were seen
  std::vector<fabric::PlaneId> planes;
  fabric::Lanes lanes = {};  // whose levels senders are told; empty: they are not known, or told none
};
using SeenTablesPtr = std::shared_ptr<const SeenTables>;

class SeenTablesBoard {
 public:
  // The newest of a subnet are kept: a state may be a few reports behind.
  static constexpr std::size_t kKeptOfSubnet = 4;

  void publish(SeenTablesPtr seen);
  // Null: they are another process's, or too old.
  [[nodiscard]] SeenTablesPtr find(const std::string& subnet, const SubnetTables& reported) const;

 private:
  mutable std::mutex mutex_;
  std::deque<SeenTablesPtr> kept_;  // the latest first
};

}  // namespace railweave::control
