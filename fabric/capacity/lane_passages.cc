#include "fabric/capacity/lane_passages.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "fabric/capacity/egress_map.h"

namespace railweave::fabric {
namespace {

class LaneWalk {
 public:
  LaneWalk(const FabricView& view, const ForwardingTables& tables)
      : topology_(view.topology()),
        tables_(tables),
        egress_(view, tables.scope()),
        seen_(topology_.switches().size(), 0) {}

  // Ascending, each once.
  std::vector<DirectedLink> links(const Reservation& one) {
    std::vector<PortId> ports;
    senders_.clear();
    for (const HosePort& port : one.ports) {
      ports.push_back(port.port);
      if (port.send_mbps > 0) senders_.insert(port.port);
    }
    for (const PatternFlow& flow : one.flows) {
      for (const PortId port : {flow.ports.from, flow.ports.to}) {
        ports.push_back(port);
        senders_.insert(port);
      }
    }
    sort_once(ports);
    // Ports in different planes never meet.
    const RoutingScope& scope = tables_.scope();
    std::map<PlaneId, std::vector<PortId>> by_plane;
    for (const PortId port : ports) {
      const PortId peer = topology_.peer(port);
      if (!peer || !topology_.is_switch_port(peer) || !scope.find(port)) continue;
      by_plane[scope.plane_of(topology_.switch_of(peer))].push_back(port);
    }
    links_.clear();
    for (const auto& [plane, together] : by_plane) {
      if (together.size() < 2) continue;
      std::vector<SwitchId> sources;
      for (const PortId port : together) {
        if (!senders_.contains(port)) continue;
        sources.push_back(topology_.switch_of(topology_.peer(port)));
        links_.push_back(directed_link(topology_, port));
      }
      sort_once(sources);
      for (const PortId to : together) {
        for (unsigned offset = 0; offset < scope.lid_count(to); ++offset) walk(scope.find(to, offset), sources);
      }
    }
    sort_once(links_);
    return std::move(links_);
  }

 private:
  template <class T>
  static void sort_once(std::vector<T>& list) {
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }

  // From every source, up to where packets of another one have been.
  void walk(DestinationId to, const std::vector<SwitchId>& sources) {
    ++token_;
    for (const SwitchId source : sources) {
      for (std::uint32_t at = source.value(); at != EgressMap::kNone && seen_[at] != token_;) {
        seen_[at] = token_;
        const auto hop = egress_.next_hop(at, tables_.out_port(SwitchId(at), to));
        if (hop.link == EgressMap::kNone) break;
        links_.push_back(hop.link);
        at = hop.sw;
      }
    }
  }

  const Topology& topology_;
  const ForwardingTables& tables_;
  const EgressMap egress_;
  std::set<PortId> senders_;         // of the reservation at hand; the others only receive
  std::vector<std::uint32_t> seen_;  // by switch
  std::uint32_t token_ = 0;
  std::vector<DirectedLink> links_;
};

}  // namespace

LanePassages lane_passages(const Ledger& ledger, const FabricView& view, const ForwardingTables& tables) {
  LanePassages passages;
  std::optional<LaneWalk> walk;
  for (const ReservationPtr& one : ledger.reservations()) {
    if (!one->lane) continue;
    if (!walk) walk.emplace(view, tables);
    for (const DirectedLink link : walk->links(*one)) {
      if (load_on(one->loads, link) == 0) passages.push_back({link, *one->lane, one->job});
    }
  }
  std::ranges::sort(passages);
  return passages;
}

LanePassages join(const LanePassages& a, const LanePassages& b) {
  LanePassages both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

std::vector<std::pair<std::string, std::string>> jobs_met(const Ledger& ledger, const LanePassages& passages) {
  std::set<std::pair<std::string, std::string>> met;
  const auto meet = [&](const std::string& a, const std::string& b) {
    if (a == b) return;
    met.emplace(a, b);
    met.emplace(b, a);
  };
  if (passages.empty()) return {};
  std::map<std::pair<DirectedLink, std::uint8_t>, std::vector<const std::string*>> on;
  for (const LanePassage& one : passages) {
    auto& here = on[{one.link, one.lane}];
    for (const std::string* other : here) meet(*other, one.job);
    here.push_back(&one.job);
  }
  for (const ReservationPtr& owner : ledger.reservations()) {
    if (!owner->lane) continue;
    for (const LinkLoad& load : owner->loads) {
      const auto at = on.find({load.link, *owner->lane});
      if (at == on.end()) continue;
      for (const std::string* passer : at->second) meet(*passer, owner->job);
    }
  }
  return {met.begin(), met.end()};
}

}  // namespace railweave::fabric
