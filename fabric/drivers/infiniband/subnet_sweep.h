// Reads a subnet by directed routes, every node of it or what changed since the last sweep.
//
// A full sweep asks NodeInfo along every cable once, a description and SwitchInfo per node, PortInfo per switch port
// and per adapter port reached. Later sweeps follow known cables: NodeInfo and SwitchInfo per switch; ports are read
// and cables followed again only at switches that changed. Cost, with S switches, P switch ports of which U lead to
// switches, A adapters: full about 3S + P + U/2 + 3A datagrams, unchanged 2S.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/subnet_map.h"

namespace railweave::fabric::infiniband {

// By what a sweep recognises a switch whose ports it has to read again.
enum class ChangeSign : std::uint8_t {
  everything,       // full sweep: every switch, every node
  portStateChange,  // SwitchInfo reports it; for the subnet manager, which clears it
  portInfo,         // every switch port is read and compared; for observers, as another manager clears PortStateChange
};

struct SweepOptions {
  ChangeSign sign = ChangeSign::everything;
  bool clear_changes = false;  // clear PortStateChange before a changed switch's ports are read (this writes)
  ExchangeOptions exchange;
};

class SubnetSweep {
 public:
  // map: empty before the first sweep.
  SubnetSweep(MadPort& port, SubnetMap& map, const SweepOptions& options);

  // Error: the local port fails, or the local node does not answer ("ib.noLocalNode"). The map is then incomplete,
  // and the next sweep must be a full one.
  Result<void> run();
  void on_unasked(std::function<void(const ReceivedMad&)> take) { exchange_.on_unasked(std::move(take)); }
  [[nodiscard]] const MadExchange::Counts& counts() const { return exchange_.counts(); }
  // Whether nodes, cables or port states differ from those before the sweep.
  [[nodiscard]] bool changed() const { return changed_; }

 private:
  // The directed route to a node ends with this hop: out of a switch's port (or the local one).
  struct LastHop {
    std::uint32_t from = kNoNode;
    std::uint8_t port = 0;
  };
  struct Pending {
    std::uint32_t node;
    std::vector<LastHop> other_hops;
  };
  using Reply = const MadReply&;

  void ask(MadExchange::DeviceKey device, const DirectedRoute& route, Attribute attribute, std::uint32_t modifier,
           MadExchange::Completion completion);
  void start();
  void probe(LastHop hop);
  void arrived(LastHop hop, const DirectedRoute& route, const NodeInfo& info);
  std::uint32_t node_for(const NodeInfo& info);
  void link(LastHop hop, std::uint32_t node, std::uint8_t port);
  void visit(std::uint32_t node, bool unknown);
  void read_description(std::uint32_t node);
  void read_switch(std::uint32_t node, bool unknown);
  void read_ports(std::uint32_t node);
  void read_port(std::uint32_t node, std::uint8_t port);
  void took_port(std::uint32_t node, std::uint8_t port, const PortInfo& info);
  void walk_known(std::uint32_t node);
  void follow(LastHop hop);
  void confirm(LastHop hop);
  void try_hop(std::uint32_t node, LastHop hop);
  void note_silent(std::uint32_t node, const char* question);
  void finish();
  [[nodiscard]] bool seen(std::uint32_t node) const { return map_.nodes[node].seen_in == map_.sweep; }

  SubnetMap& map_;
  const SweepOptions options_;
  MadExchange exchange_;
  bool changed_ = false, local_is_silent_ = false;
  std::unordered_map<std::uint32_t, std::vector<LastHop>>
      pending_;  // known switches being asked, and other last hops to them
};

}  // namespace railweave::fabric::infiniband
