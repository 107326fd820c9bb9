// A small fabric with GPUs, and its InfiniBand subnet in memory: switches that answer management datagrams, cables that
// are cut and joined, datagrams that are lost or late. Knows the truth.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fabric/drivers/infiniband/mad_port.h"
#include "fabric/topology/topology.h"
#include "tests/simulation/random.h"
#include "tests/simulation/simulated_time.h"
#include "tests/unit/infiniband/memory_subnet.h"

namespace railweave::simulation {

using fabric::infiniband::MemorySubnet;

class SimulatedPort;

class SimulatedFabric {
 public:
  static constexpr const char* kSubnet = "sim";
  struct Cable {
    int a = 0, b = 0;  // nodes; a is a switch
    unsigned a_port = 0, b_port = 0;
    bool is_up = true;
  };

  // One to four leaves of one to three hosts, under up to three spines; some cables twice, some missing.
  SimulatedFabric(SimulatedTime& time, std::uint64_t seed);

  [[nodiscard]] const fabric::TopologyPtr& topology() const { return topology_; }
  [[nodiscard]] const std::vector<int>& switches() const { return switches_; }
  [[nodiscard]] const std::vector<int>& adapters() const { return adapters_; }
  [[nodiscard]] bool is_switch(int node) { return subnet.node(node).is_switch; }
  [[nodiscard]] std::string name(int node) { return subnet.node(node).description; }
  // The cable at the port, or null.
  [[nodiscard]] const Cable* cable_at(int node, unsigned port) const;
  [[nodiscard]] std::string link_text(const Cable& cable);

  // trapped: the switches report it, if their reports arrive.
  void set(Cable& cable, bool up, bool trapped);
  void forget_tables(int sw);  // as when it was switched off and on
  void lose(double fraction, std::uint64_t seed) { subnet.lose(fraction, static_cast<std::uint32_t>(seed)); }
  // Nodes that management datagrams from the station reach.
  [[nodiscard]] std::set<int> reached_from(int station);

  MemorySubnet subnet;
  std::vector<Cable> cables;
  std::map<int, std::int64_t> delay_us;  // of switches that answer late
  std::set<int> unheard;                 // switches that did not answer in time, since the last calm
  std::int64_t broken_until_us = 0;      // no datagram can be sent
  std::uint64_t changes = 0;             // of what packets do

 private:
  friend class SimulatedPort;
  void join(int a, int b);
  void report(int sw);

  SimulatedTime& time_;
  fabric::TopologyPtr topology_;
  std::vector<int> switches_, adapters_;
  std::map<int, unsigned> used_;         // ports
  std::set<SimulatedPort*> open_ports_;  // all get the traps
};

}  // namespace railweave::simulation
