// One InfiniBand subnet of the simulated fabric, in memory: switches that answer management datagrams, cables that are cut
// and joined, datagrams that are lost or late. Knows the truth.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fabric/drivers/infiniband/mad_port.h"
#include "fabric/topology/topology.h"
#include "services/control/state/drain.h"
#include "tests/simulation/random.h"
#include "tests/simulation/simulated_time.h"
#include "tests/unit/infiniband/memory_subnet.h"

namespace railweave::simulation {

using fabric::infiniband::MemorySubnet;

class SimulatedPort;

class SimulatedSubnet {
 public:
  struct Cable {
    int a = 0, b = 0;  // nodes; a is a switch
    unsigned a_port = 0, b_port = 0;
    bool is_up = true;
  };

  SimulatedSubnet(SimulatedTime& time, std::string name) : name_(std::move(name)), time_(time) {}

  // Before topology is set. All switches have 16 ports.
  int add_switch(std::uint64_t guid, const std::string& description);
  int add_adapter(std::uint64_t guid, const std::string& description);
  void join(int a, int b);  // by the next free port of each; a is a switch
  fabric::TopologyPtr topology;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<int>& switches() const { return switches_; }
  [[nodiscard]] const std::vector<int>& adapters() const { return adapters_; }
  [[nodiscard]] bool is_switch(int node) { return subnet.node(node).is_switch; }
  [[nodiscard]] std::string name(int node) { return subnet.node(node).description; }
  // The cable at the port, or null.
  [[nodiscard]] const Cable* cable_at(int node, unsigned port) const;
  [[nodiscard]] std::string link_text(const Cable& cable);
  [[nodiscard]] bool has(const control::DrainTarget& target);  // a link or a switch of it

  // trapped: the switches report it, if their reports arrive.
  void set(Cable& cable, bool up, bool trapped);
  void forget_tables(int sw);  // as when it was switched off and on
  void lose(double fraction, std::uint64_t seed) { subnet.lose(fraction, static_cast<std::uint32_t>(seed)); }
  // Nodes that management datagrams from the station reach.
  [[nodiscard]] std::set<int> reached_from(int station);

  static constexpr unsigned kPorts = 16;
  MemorySubnet subnet;
  std::vector<Cable> cables;
  std::map<int, std::int64_t> delay_us;  // of switches that answer late
  std::set<int> unheard;                 // switches that did not answer in time, since the last calm
  std::int64_t broken_until_us = 0;      // no datagram can be sent
  std::uint64_t changes = 0;             // of what packets do

 private:
  friend class SimulatedPort;
  void report(int sw);

  const std::string name_;
  SimulatedTime& time_;
  std::vector<int> switches_, adapters_;
  std::map<int, unsigned> used_;         // ports
  std::set<SimulatedPort*> open_ports_;  // all get the traps
};

}  // namespace railweave::simulation
