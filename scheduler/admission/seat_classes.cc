#include "scheduler/admission/seat_classes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "fabric/capacity/spread_paths.h"

namespace railweave::scheduler {
namespace {

using fabric::DestinationId;
using fabric::PortId;

// Of one port: the switch that it is cabled to, the routes to it, and what is left of its cable in both directions.
class PortSigns {
 public:
  PortSigns(const fabric::FabricView& view, const fabric::ForwardingTables& tables, const fabric::Ledger& ledger)
      : topology_(view.topology()), view_(view), tables_(tables), ledger_(ledger) {}

  void append_home(PortId port, std::vector<std::uint64_t>& sign) const {
    const DestinationId id = tables_.scope().find(port);
    sign.push_back(id ? tables_.scope().destination(id).home.value() + 1 : 0);
  }
  void append_cable(PortId port, std::vector<std::uint64_t>& sign) const {
    const fabric::LinkId cable = topology_.link(port);
    if (!cable.valid()) return sign.push_back(0);
    sign.push_back(view_.alive(cable) ? 2 : 1);
    for (const PortId end : {port, topology_.peer(port)}) {
      const auto link = fabric::directed_link(topology_, end);
      sign.push_back(static_cast<std::uint64_t>(ledger_.capacity_mbps(link)));
      sign.push_back(ledger_.lanes_on(link));
      for (std::size_t one = 0; one < ledger_.classes(); ++one) {
        sign.push_back(static_cast<std::uint64_t>(ledger_.reserved_mbps(link, static_cast<std::uint8_t>(one))));
      }
    }
  }
  void append_routes(PortId port, std::vector<std::uint64_t>& sign) const {
    const auto& scope = tables_.scope();
    const DestinationId id = scope.find(port);
    if (!id) return sign.push_back(UINT64_MAX);
    const auto plane = scope.plane_of(id);
    const auto& table = tables_.plane(plane);
    const std::uint32_t home = scope.local(scope.destination(id).home);
    for (std::size_t s = 0; s < table.switches(); ++s) {
      sign.push_back(s == home ? UINT64_MAX : table.at(s, scope.local(id)));
    }
  }
  [[nodiscard]] bool is_spread(PortId port) const {
    const DestinationId id = tables_.scope().find(port);
    return id && fabric::spread_of(view_, tables_.scope(), tables_.scope().plane_of(id)) != fabric::PathSpread::single;
  }
  [[nodiscard]] std::uint64_t entries(PortId port) const {
    const DestinationId id = tables_.scope().find(port);
    return id ? tables_.plane(tables_.scope().plane_of(id)).switches() : 1;
  }

 private:
  const fabric::Topology& topology_;
  const fabric::FabricView& view_;
  const fabric::ForwardingTables& tables_;
  const fabric::Ledger& ledger_;
};

}  // namespace

SeatClasses seat_classes(std::span<const Seat> seats, const fabric::FabricView& view,
                         const fabric::ForwardingTables& tables, const fabric::Ledger& ledger) {
  const PortSigns signs(view, tables, ledger);
  SeatClasses result;
  std::uint64_t& entries = result.entries;
  for (const Seat& seat : seats) {
    for (const PortId port : seat.ports) {
      entries += signs.entries(port);
      if (signs.is_spread(port)) result.compared = false;
    }
  }
  result.compared = result.compared && entries <= kMaxEntriesCompared;
  if (!result.compared) entries = 0;
  std::map<std::vector<std::uint64_t>, std::uint32_t> groups;
  // By group, then by everything else that counts; with an index where nothing is compared.
  std::map<std::pair<std::uint32_t, std::vector<std::uint64_t>>, std::vector<std::uint32_t>> classes;
  for (std::uint32_t i = 0; i < seats.size(); ++i) {
    std::vector<std::uint64_t> homes;
    for (const PortId port : seats[i].ports) signs.append_home(port, homes);
    std::ranges::sort(homes);
    const auto group = groups.try_emplace(std::move(homes), static_cast<std::uint32_t>(groups.size())).first->second;
    std::vector<std::uint64_t> sign{seats[i].units};
    if (result.compared) {
      // In order of their switches, so that seats are alike whatever the numbers of their ports.
      std::vector<std::vector<std::uint64_t>> ports;
      for (const PortId port : seats[i].ports) {
        auto& one = ports.emplace_back();
        signs.append_home(port, one);
        signs.append_cable(port, one);
        signs.append_routes(port, one);
      }
      std::ranges::sort(ports);
      for (const auto& one : ports) sign.insert(sign.end(), one.begin(), one.end());
    } else {
      sign.push_back(i);
    }
    classes[{group, std::move(sign)}].push_back(i);
  }
  for (auto& [key, members] : classes) {
    result.classes.push_back({std::move(members), key.first});
    result.first.resize(key.first + 2, 0);
    result.first.back() = static_cast<std::uint32_t>(result.classes.size());
  }
  return result;
}

}  // namespace railweave::scheduler
