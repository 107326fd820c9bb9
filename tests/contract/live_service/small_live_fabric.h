// The small fabric of small_fabric.py as a live subnet would show it.
#pragma once

#include "services/control/control_loop.h"
#include "tests/support/memory_live_fabric.h"

namespace railweave::contract {

// Leaf-1, leaf-2 and spine-1 with the adapters of nodes 1 to `nodes`, all in one subnet; GPUs are not seen.
fabric::TopologyPtr found_nodes(unsigned nodes);

// "compute" answers what is asked, with found_nodes(); "edge" is configured and out of reach.
class SmallLiveFabric {
 public:
  explicit SmallLiveFabric(const control::ControlLoop& loop);

  control::MemoryLiveFabric fabric;
  void find_nodes(unsigned nodes) { nodes_ = nodes; }

 private:
  [[nodiscard]] Result<control::SubnetStatus> answer(const control::SubnetStatus& present,
                                                     control::LiveFabric::Request request);

  const control::ControlLoop& loop_;
  const fabric::health::CounterArchive archive_;  // of every switch port
  std::atomic<unsigned> nodes_ = 4;
};

}  // namespace railweave::contract
