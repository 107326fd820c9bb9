#include <algorithm>
#include <charconv>

#include "fabric/formats/sonic/sonic_lanes.h"
#include "services/railweave/switch_config/host_routes.h"
#include "services/railweave/switch_config/switch_config.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

struct WeightedQueue {
  fabric::SonicQueue queue;
  bool is_lane = false;
};

// Whole percent of the link: lanes rounded up, and what that is too much taken from the largest class.
std::vector<fabric::SonicQueue> weights_of(const Json& port) {
  const std::uint64_t link = std::max<std::uint64_t>(1, count_of(port, "linkMbps"));
  std::vector<WeightedQueue> rows;
  unsigned sum = 0;
  for (const Json& queue : list(port, "queues")) {
    const std::uint64_t hundredfold = count_of(queue, "guaranteedMbps") * 100;
    const bool is_lane = field(queue, "lane").is_number();
    const auto weight =
        static_cast<unsigned>(std::clamp<std::uint64_t>((hundredfold + (is_lane ? link - 1 : 0)) / link, 1, 100));
    rows.push_back({{static_cast<std::uint8_t>(count_of(queue, "trafficClass")), weight}, is_lane});
    sum += weight;
  }
  for (; sum > 100; --sum) {
    auto largest = rows.end();
    for (auto at = rows.begin(); at != rows.end(); ++at) {
      if (!at->is_lane && (largest == rows.end() || at->queue.weight > largest->queue.weight)) largest = at;
    }
    if (largest == rows.end() || largest->queue.weight <= 1) break;  // refused by write_sonic_lanes()
    --largest->queue.weight;
  }
  std::vector<fabric::SonicQueue> queues;
  for (const WeightedQueue& row : rows) queues.push_back(row.queue);
  return queues;
}

void add_mark(fabric::SonicLanes& lanes, std::uint8_t dscp, std::uint8_t traffic_class) {
  if (std::ranges::find(lanes.marks, dscp, &fabric::SonicMark::dscp) == lanes.marks.end()) {
    lanes.marks.push_back({dscp, traffic_class});
  }
}

// Port 5 is Ethernet32 where it has no name of its own and the step between the numbers of ports is 8.
std::string interface_of(const NetworkNames& names, const std::string& port, std::uint64_t port_step) {
  if (const auto at = names.interfaces.find(port); at != names.interfaces.end()) return at->second;
  std::uint64_t number = 1;
  std::from_chars(port.data(), port.data() + port.size(), number);
  return "Ethernet" + std::to_string((std::max<std::uint64_t>(1, number) - 1) * port_step);
}

}  // namespace

std::string sonic_routes(const Json& table, const NetworkNames& names, std::uint64_t port_step,
                         std::vector<std::string>& notes) {
  const auto routes =
      host_routes(table, names, [&](const std::string& port) { return interface_of(names, port, port_step); }, notes);
  value_or_fail(fabric::linux_routes::check_routes(routes));
  Json rows = Json::object();
  for (const auto& one : routes) {
    const bool is_refused = one.interface.empty();
    rows["default|" + one.destination + "/32"] = {
        {"nexthop", is_refused || !one.gateway.empty() ? one.gateway : "0.0.0.0"},
        {"ifname", one.interface},
        {"distance", "0"},
        {"nexthop-vrf", ""},
        {"blackhole", is_refused ? "true" : "false"}};
  }
  return json_text(Json{{"STATIC_ROUTE", std::move(rows)}});
}

std::string sonic_lane_tables(const Json& queues, const NetworkNames& names, std::uint64_t port_step,
                              std::vector<std::string>& notes) {
  fabric::SonicLanes lanes;
  for (const Json& port : list(queues, "ports")) {
    for (const Json& queue : list(port, "queues")) {
      const auto traffic_class = static_cast<std::uint8_t>(count_of(queue, "trafficClass"));
      if (traffic_class > 7) fail_usage("an Ethernet switch has 8 traffic classes", "use fewer classes");
      add_mark(lanes, static_cast<std::uint8_t>(count_of(queue, "dscp")), traffic_class);
      const bool is_lowest =
          !field(queue, "lane").is_number() && text_of(queue, "class") == text_of(queues, "lowestClass");
      if (is_lowest) lanes.lowest_class = traffic_class;
    }
  }
  for (const Json& port : list(queues, "ports")) {
    fabric::SonicLanePort one{interface_of(names, text_of(port, "port"), port_step), weights_of(port), {}};
    if (flag_of(port, "facesHost")) {
      for (const fabric::SonicMark& mark : lanes.marks) {
        const bool is_lane =
            std::ranges::any_of(list(queues, "laneDscps"), [&](const Json& dscp) { return dscp == mark.dscp; });
        const bool is_admitted = std::ranges::any_of(
            list(port, "admitted"), [&](const Json& admitted) { return count_of(admitted, "dscp") == mark.dscp; });
        if (is_lane && !is_admitted) one.distrusted.push_back(mark.dscp);
      }
    }
    lanes.ports.push_back(std::move(one));
  }
  notes.push_back("ports are named Ethernet0, Ethernet" + std::to_string(port_step) +
                  ", ...; load it over the switch's classes: railweave lab qos --to sonic");
  return value_or_fail(fabric::write_sonic_lanes(lanes));
}

}  // namespace railweave::cli
