#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/core.h>

#include "fabric/formats/sonic/sonic_lanes.h"
#include "fabric/qos/ethernet_plan.h"
#include "services/railweave/switch_config/host_routes.h"
#include "services/railweave/switch_config/switch_config.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

constexpr double kRoundTripS = 8e-6;  // of a loaded fabric of three tiers; sets where ECN marking begins
constexpr double kUnknownCableM = 5;
constexpr std::uint64_t kNotificationShare = 100;  // of a link, the part of notifications where no class has their DSCP

struct WeightedQueue {
  fabric::SonicQueue queue;
  bool is_lane = false;
};

// Whole percent of the link: lanes rounded up, and what that is too much taken from the largest class.
std::vector<fabric::SonicQueue> weights_of(const Json& port, bool notifications, std::uint8_t their_class) {
  const std::uint64_t link = std::max<std::uint64_t>(1, count_of(port, "linkMbps"));
  const auto bytes_per_s = [](std::uint64_t mbps) { return std::max<std::uint64_t>(1, mbps * 1'000'000 / 8); };
  std::vector<WeightedQueue> rows;
  unsigned sum = 0;
  for (const Json& queue : list(port, "queues")) {
    const std::uint64_t mbps = count_of(queue, "guaranteedMbps"), hundredfold = mbps * 100;
    const bool is_lane = field(queue, "lane").is_number();
    const auto weight =
        static_cast<unsigned>(std::clamp<std::uint64_t>((hundredfold + (is_lane ? link - 1 : 0)) / link, 1, 100));
    // Congestion notifications must not wait for what they are about.
    const bool is_strict = !is_lane && count_of(queue, "dscp") == fabric::kCongestionDscp;
    rows.push_back(
        {{static_cast<std::uint8_t>(count_of(queue, "trafficClass")), weight, is_strict ? bytes_per_s(mbps) : 0},
         is_lane});
    sum += weight;
  }
  if (notifications) {
    rows.push_back({{their_class, 1, bytes_per_s(std::max<std::uint64_t>(1, link / kNotificationShare))}, true});
    ++sum;
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

void add_mark(fabric::SonicLanes& lanes, const fabric::SonicMark& mark) {
  if (std::ranges::find(lanes.marks, mark.dscp, &fabric::SonicMark::dscp) == lanes.marks.end()) {
    lanes.marks.push_back(mark);
  }
}

// The fastest port, whose window of packets in flight ECN begins after: marks come before pauses.
std::uint64_t window_bytes(const Json& queues) {
  std::uint64_t fastest = 0;
  for (const Json& port : list(queues, "ports")) fastest = std::max(fastest, count_of(port, "linkMbps"));
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(fastest) * 1e6 / 8 * kRoundTripS));
}

// Classes and lanes of all ports, and where no class has the DSCP of notifications, these: the traffic class that they have.
std::optional<std::uint8_t> add_marks(fabric::SonicLanes& lanes, const Json& queues) {
  const std::uint64_t window = window_bytes(queues);
  unsigned classes = 0;
  for (const Json& port : list(queues, "ports")) {
    for (const Json& queue : list(port, "queues")) {
      const auto traffic_class = static_cast<std::uint8_t>(count_of(queue, "trafficClass"));
      if (traffic_class > 7) fail_usage("an Ethernet switch has 8 traffic classes", "use fewer classes");
      const bool lossless = flag_of(queue, "lossless"), is_lane = field(queue, "lane").is_number();
      add_mark(lanes, {static_cast<std::uint8_t>(count_of(queue, "dscp")), traffic_class, lossless,
                       lossless ? window : 0, lossless ? 4 * window : 0});
      if (!is_lane) classes = std::max(classes, traffic_class + 1U);
      if (!is_lane && text_of(queue, "class") == text_of(queues, "lowestClass")) lanes.lowest_class = traffic_class;
    }
  }
  const bool known =
      std::ranges::find(lanes.marks, fabric::kCongestionDscp, &fabric::SonicMark::dscp) != lanes.marks.end();
  if (known || classes >= fabric::kTrafficClasses) return std::nullopt;
  lanes.marks.push_back({.dscp = fabric::kCongestionDscp, .traffic_class = static_cast<std::uint8_t>(classes)});
  return static_cast<std::uint8_t>(classes);
}

// Of lossless classes everywhere, and of lanes whose packets come in or go out here.
std::vector<std::uint8_t> lossless_at(const Json& port) {
  std::vector<std::uint8_t> lossless;
  for (const FieldName name : std::initializer_list<FieldName>{"queues", "arriving"}) {
    for (const Json& one : list(port, name)) {
      const auto traffic_class = static_cast<std::uint8_t>(count_of(one, "trafficClass"));
      if (flag_of(one, "lossless") && std::ranges::find(lossless, traffic_class) == lossless.end()) {
        lossless.push_back(traffic_class);
      }
    }
  }
  return lossless;
}

std::vector<std::uint8_t> distrusted_at(const Json& queues, const Json& port, const fabric::SonicLanes& lanes) {
  std::vector<std::uint8_t> distrusted;
  if (!flag_of(port, "facesHost")) return distrusted;
  for (const fabric::SonicMark& mark : lanes.marks) {
    const bool is_lane =
        std::ranges::any_of(list(queues, "laneDscps"), [&](const Json& dscp) { return dscp == mark.dscp; });
    const bool is_admitted = std::ranges::any_of(
        list(port, "admitted"), [&](const Json& admitted) { return count_of(admitted, "dscp") == mark.dscp; });
    if (is_lane && !is_admitted) distrusted.push_back(mark.dscp);
  }
  return distrusted;
}

// Port 5 is Ethernet32 where it has no name of its own and the step between the numbers of ports is 8.
std::string interface_of(const NetworkNames& names, const std::string& port, std::uint64_t port_step) {
  if (const auto at = names.interfaces.find(port); at != names.interfaces.end()) return at->second;
  std::uint64_t number = 1;
  std::from_chars(port.data(), port.data() + port.size(), number);
  return fmt::format("Ethernet{}", (std::max<std::uint64_t>(1, number) - 1) * port_step);
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

std::map<std::string, std::uint64_t> sonic_ports(const Json& queues, const NetworkNames& names, const SonicSwitch& sw) {
  std::map<std::string, std::uint64_t> ports;
  for (const Json& port : list(queues, "ports")) {
    if (!flag_of(port, "inUse")) continue;
    ports[interface_of(names, text_of(port, "port"), sw.port_step)] = count_of(port, "linkMbps");
  }
  return ports;
}

std::string sonic_lane_tables(const Json& queues, const NetworkNames& names, const SonicSwitch& sw,
                              std::vector<std::string>& notes) {
  fabric::SonicLanes lanes;
  lanes.asic.memory_bytes = sw.buffer_mib << 20U;
  const auto notifications = add_marks(lanes, queues);
  for (const Json& port : list(queues, "ports")) {
    const bool known = field(port, "cableMetres").is_number();
    lanes.ports.push_back({.name = interface_of(names, text_of(port, "port"), sw.port_step),
                           .queues = weights_of(port, notifications.has_value(), notifications.value_or(0)),
                           .distrusted = distrusted_at(queues, port, lanes),
                           .lossless = lossless_at(port),
                           .rate = RateMbps(static_cast<std::int64_t>(count_of(port, "linkMbps"))),
                           .cable_m = known ? field(port, "cableMetres").get<double>() : kUnknownCableM});
  }
  notes.push_back(
      fmt::format("ports are named Ethernet0, Ethernet{}, ...; buffers assume {} MiB of packet memory; clear what the "
                  "switch has of QoS before: config qos clear",
                  sw.port_step, sw.buffer_mib));
  for (const fabric::SonicMark& mark : lanes.marks) {
    if (!mark.lossless) continue;
    notes.push_back(fmt::format("adapters of hosts pause DSCP {} by priority {}", mark.dscp, mark.traffic_class));
  }
  return value_or_fail(fabric::write_sonic_lanes(lanes));
}

}  // namespace railweave::cli
