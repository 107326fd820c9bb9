// The most that a job's ports can put on each directed link, whatever they send each other, along the routes that the
// forwarding tables give (the hose model: Duffield et al., SIGCOMM 1999).
//
// For a link this is the maximum b-matching over the pairs whose route crosses it, at most min(sum of the sources, sum
// of the destinations) that cross it. That bound is the matching where every such source crosses to every such
// destination, which is so on every link of a healthy d-mod-k fat tree and is checked by counting pairs; only links on
// which it is not so, after failures, take a maximum flow. Sources on one switch share all routes and count as one.
//
// Destinations are those of LID offset 0. Ports in different planes never meet. One per thread: it owns scratch memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/capacity/load_vector.h"
#include "fabric/routing/forwarding_tables.h"

namespace railweave::fabric {

struct HosePort {
  PortId port;                    // an adapter's
  std::int64_t send_mbps = 0;     // at least 0
  std::int64_t receive_mbps = 0;  // likewise
  friend bool operator==(const HosePort&, const HosePort&) = default;
};

enum class HoseMethod : std::uint8_t {
  exact,  // a maximum flow where the bound may be above it
  bound,  // min of sums throughout: never less than exact
};

struct HoseLoad {
  LoadVector loads;
  std::size_t flow_links = 0;   // links that took a maximum flow
  std::uint64_t unrouted = 0;   // (switch of sources, destination) pairs of one plane that packets do not cross
  std::vector<PortId> cut_off;  // ports without a live cable, or not routed to: nothing is guaranteed at them
  [[nodiscard]] bool complete() const { return unrouted == 0 && cut_off.empty(); }
};

class HoseLoads {
 public:
  // Borrows nothing but the tables' and the view's shared parts. O(switch ports + links).
  HoseLoads(const FabricView& view, ForwardingTables tables);

  // Ports named twice count once, with the first rates. O(destinations x switches of sources) table look-ups.
  [[nodiscard]] HoseLoad load(std::span<const HosePort> ports, HoseMethod method = HoseMethod::exact);

  [[nodiscard]] const ForwardingTables& tables() const { return tables_; }
  [[nodiscard]] const FabricView& view() const { return view_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr unsigned kMaxHops = 512;
  static constexpr std::size_t kBlock = 128;  // targets whose first hops are taken together

  struct Way {  // out of a switch's port
    std::uint32_t sw = kNone;
    DirectedLink link = kNone;
  };
  struct Target {
    DestinationId id;
    PortId port;
    std::int64_t send = 0, receive = 0;
    std::uint32_t group = 0;
    std::int64_t unrouted_send = 0;
  };
  struct Group {  // ports on one switch
    std::uint32_t sw = 0;
    std::int64_t send = 0, unrouted_receive = 0;
  };
  struct LinkUse {
    std::uint32_t token = 0;  // of the job it was last used for
    std::uint32_t last_target = kNone;
    std::uint32_t targets = 0;
    std::uint32_t set = 0;  // groups that cross it, in sets_
    bool mixed = false;     // groups enter the network by it, others pass
    std::uint64_t pairs = 0;
    std::int64_t receive = 0;
  };
  struct Arrival {
    std::uint32_t token = 0;
    std::uint32_t set = 0;
  };
  void load_plane(PlaneId plane, std::size_t first, std::size_t end, HoseMethod method, HoseLoad& result);
  [[nodiscard]] Way way_of(const PlaneTables& tables, std::uint32_t sw, std::uint32_t destination) const;
  void enter(PlaneId plane, std::size_t first, std::size_t count);
  template <class Visit>
  void walk_on(PlaneId plane, std::uint32_t target, std::uint32_t home, Visit visit);
  void note_use(DirectedLink link, std::uint32_t target, const std::uint64_t* set);
  void note_unrouted(std::uint32_t target, std::uint32_t group);
  void finish_host_links(std::size_t first, std::size_t end, HoseLoad& result);
  void finish_entries(HoseLoad& result);
  void finish_links(PlaneId plane, HoseMethod method, HoseLoad& result);
  void solve_flows(PlaneId plane, std::span<const DirectedLink> links, HoseLoad& result);
  [[nodiscard]] std::uint32_t new_set();

  FabricView view_;
  ForwardingTables tables_;
  std::vector<std::uint32_t> first_port_;
  std::vector<Way> ways_;
  std::vector<LinkUse> uses_;      // by directed link
  std::vector<Arrival> arrivals_;  // by switch
  std::uint32_t use_token_ = 0, arrival_token_ = 0;

  // Of the job and plane at hand.
  std::vector<Target> targets_;
  std::vector<Group> groups_;
  std::size_t words_ = 0, first_target_ = 0, end_target_ = 0;
  std::vector<std::uint64_t> sets_;
  std::vector<std::uint64_t> walk_sets_;
  std::vector<DirectedLink> used_;
  struct Front {
    std::uint32_t sw = 0;
    std::uint32_t set = 0;  // in walk_sets_: groups that arrive there
  };
  std::vector<Front> frontier_, next_frontier_;
  std::vector<std::vector<Front>> block_fronts_{kBlock};
  std::vector<std::vector<std::uint64_t>> block_sets_{kBlock};
  std::size_t ports_ = 0;
  std::vector<std::int64_t> entered_;  // groups x ports: what targets receive by them
  std::uint64_t unrouted_ = 0;
};

}  // namespace railweave::fabric
