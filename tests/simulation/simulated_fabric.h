// A small fabric with GPUs: hosts with an adapter in each of one or two InfiniBand subnets, the GPUs of a host dealt out to
// its adapters.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/simulation/simulated_subnet.h"

namespace railweave::simulation {

class SimulatedFabric {
 public:
  // Each subnet: one to four leaves under up to three spines; some cables twice, some missing.
  SimulatedFabric(SimulatedTime& time, std::uint64_t seed);

  [[nodiscard]] const fabric::TopologyPtr& topology() const { return topology_; }
  [[nodiscard]] const std::vector<std::unique_ptr<SimulatedSubnet>>& subnets() const { return subnets_; }
  [[nodiscard]] std::size_t hosts() const { return subnets_.front()->adapters().size(); }
  // What is set by hand is undone: nothing is lost, late, silent or broken.
  void heal();

 private:
  class Drafts;
  void cable(Drafts& drafts, SimulatedSubnet& into, unsigned hosts, Random& random);

  fabric::TopologyPtr topology_;
  std::vector<std::unique_ptr<SimulatedSubnet>> subnets_;
};

}  // namespace railweave::simulation
