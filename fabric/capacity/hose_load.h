// The most that a job's ports can put on each directed link, whatever they send each other, along the routes that the
// forwarding tables give (the hose model: Duffield et al., SIGCOMM 1999).
//
// For a link this is the maximum b-matching over the pairs whose route crosses it, at most min(sum of the sources, sum
// of the destinations) that cross it. That bound is the matching where every such source crosses to every such
// destination, which is so on every link of a healthy d-mod-k fat tree and is checked by comparing, target by target,
// which sources cross; only links on which it is not so, after failures, take a maximum flow. Sources on one switch
// share all routes and count as one, and switches that send alike are followed together (first_hops.h).
//
// Destinations are those of LID offset 0. Ports in different planes never meet. One per thread: it owns scratch memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/capacity/first_hops.h"
#include "fabric/capacity/load_vector.h"
#include "fabric/routing/plane/forwarding_tables.h"

namespace railweave::fabric {

struct HosePort {
  PortId port;                    // an adapter's
  std::int64_t send_mbps = 0;     // at least 0
  std::int64_t receive_mbps = 0;  // likewise
  friend bool operator==(const HosePort&, const HosePort&) = default;
};

enum class HoseMethod : std::uint8_t {
  exact,  // a maximum flow where the bound may be above it
  bound,  // the smaller of the sums throughout: never less than exact
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

  // Ports named twice count once, with the first rates. O(destinations x bundles of switches of sources).
  [[nodiscard]] HoseLoad load(std::span<const HosePort> ports, HoseMethod method = HoseMethod::exact);

  [[nodiscard]] const ForwardingTables& tables() const { return tables_; }
  [[nodiscard]] const FabricView& view() const { return view_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr unsigned kMaxHops = 512;

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
  // A set of groups, to be compared and summed without its members: the print is a sum of 64 random bits for each, so
  // that sets which differ have one print once in 2^64.
  struct Crossing {
    std::uint64_t print = 0;
    std::int64_t send = 0;
    std::int32_t groups = 0;
    void add(const Crossing& other) { print += other.print, send += other.send, groups += other.groups; }
    void remove(const Crossing& other) { print -= other.print, send -= other.send, groups -= other.groups; }
    friend bool operator==(const Crossing&, const Crossing&) = default;
  };
  struct Group {  // ports on one switch
    std::uint32_t sw = 0;
    std::int64_t unrouted_receive = 0;
    Crossing self;
  };
  struct Use {  // of a link that packets cross behind the first switch
    DirectedLink link = 0;
    std::uint32_t last_target = kNone, targets = 0;
    bool uneven = false;  // not the same groups towards each target
    bool mixed = false;   // groups enter the network by it, others pass
    std::int64_t receive = 0;
    Crossing every, latest;  // groups towards each target before, and towards the last one
    void close();
  };
  struct Slot {
    std::uint32_t token = 0;  // of the job that `use` is of
    std::uint32_t use = 0;
  };
  struct Arrival {
    std::uint32_t token = 0;
    std::uint32_t front = 0;
  };
  struct Front {
    std::uint32_t sw = 0;
    Crossing groups;  // that arrive there
  };
  struct SetFront {
    std::uint32_t sw = 0;
    std::uint32_t set = 0;  // in sets_
  };
  struct Uneven;  // links whose largest load takes a maximum flow

  void load_plane(PlaneId plane, HoseMethod method, HoseLoad& result);
  void read_first_hops(PlaneId plane);
  [[nodiscard]] Way way_out(std::uint32_t sw, std::uint16_t port) const {
    return port == kPortZero || port > first_port_[sw + 1] - first_port_[sw] ? Way{}
                                                                             : ways_[first_port_[sw] + port - 1U];
  }
  [[nodiscard]] Way bundle_way(std::size_t bundle, std::size_t target) const {
    return way_out(hops_.switch_of(bundle), hops_.port(bundle, target));
  }
  void walk(PlaneId plane, std::uint32_t target);
  [[nodiscard]] Front& front_at(std::uint32_t sw);
  void note_use(DirectedLink link, std::uint32_t target, const Crossing& groups);
  void note_unrouted(std::uint32_t target, std::uint32_t group);
  void finish_host_links(HoseLoad& result);
  void finish_entries(HoseLoad& result);
  void finish_links(PlaneId plane, HoseMethod method, HoseLoad& result);
  // The same walk with sets spelled out: visit(link, set), and visit(kNone, set) for those whose packets are lost.
  template <class Visit>
  void walk_sets(PlaneId plane, std::uint32_t target, Visit visit);
  [[nodiscard]] std::uint32_t set_at(std::uint32_t sw);
  void note_losses(PlaneId plane);
  void spell_sets();
  [[nodiscard]] std::int64_t largest_load(const Uneven& link, HoseMethod method) const;
  void solve_uneven(PlaneId plane, HoseMethod method, std::vector<Uneven>& links, HoseLoad& result);

  FabricView view_;
  ForwardingTables tables_;
  std::vector<std::uint32_t> first_port_;
  std::vector<Way> ways_;
  std::vector<std::uint32_t> like_;  // by switch: equal where equal ports lead to equal switches
  std::vector<Slot> slots_;          // by directed link
  std::vector<Arrival> arrivals_;    // by switch
  std::uint32_t use_token_ = 0, arrival_token_ = 0;

  // Of the job and plane at hand.
  std::vector<Target> targets_, plane_targets_;
  std::vector<Group> groups_;
  FirstHops hops_;
  std::vector<FirstHops::Source> sources_;
  std::vector<std::uint32_t> columns_, own_;
  std::vector<Crossing> bundle_groups_;
  std::size_t ports_ = 0;
  std::vector<std::int64_t> bundle_entered_, entered_;  // by (first) port: what targets receive by it
  std::vector<Use> uses_;
  std::vector<Front> frontier_, next_frontier_;
  std::vector<Way> front_ways_;
  std::vector<std::uint32_t> lossy_;  // targets to which packets are lost further on
  std::uint64_t unrouted_ = 0;

  // Of walk_sets().
  std::size_t words_ = 0;
  std::vector<std::uint64_t> bundle_sets_, sets_;
  std::vector<SetFront> set_frontier_, next_set_frontier_;
};

}  // namespace railweave::fabric
