#include <algorithm>

#include <fmt/core.h>

#include "fabric/drivers/linux_routes/route_commands.h"
#include "fabric/drivers/linux_tc/mark_filter.h"
#include "fabric/drivers/linux_tc/tc_commands.h"
#include "services/railweave/switch_config/host_routes.h"
#include "services/railweave/switch_config/switch_config.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

namespace tc = fabric::linux_tc;

std::map<std::string, std::string> texts_of(const Json& document, const char* name) {
  std::map<std::string, std::string> texts;
  const Json& object = field(document, foreign(name));
  if (object.is_null()) return texts;
  if (!object.is_object()) fail_usage(fmt::format("{} is no object", name));
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) fail_usage(fmt::format("{}: '{}' is no text", name, key));
    texts[key] = value.get<std::string>();
  }
  return texts;
}

std::string interface_of(const NetworkNames& names, const std::string& port) {
  const auto at = names.interfaces.find(port);
  return at == names.interfaces.end() ? "swp" + port : at->second;
}

std::vector<tc::TcClass> tc_classes(const Json& queues, const std::string& lowest) {
  std::vector<tc::TcClass> rows;
  for (const Json& queue : list(queues, "queues")) {
    const bool is_lane = field(queue, "lane").is_number();
    rows.push_back({.name = is_lane ? "lane " + text_of(queue, "lane") : text_of(queue, "class"),
                    .dscp = static_cast<std::uint8_t>(count_of(queue, "dscp")),
                    .rate = RateMbps(static_cast<std::int64_t>(count_of(queue, "guaranteedMbps"))),
                    .ceiling = RateMbps(0),
                    .priority = static_cast<std::uint8_t>(std::min<std::uint64_t>(7, count_of(queue, "priority")))});
  }
  // The last class of HTB takes packets with any other DSCP.
  std::ranges::stable_partition(rows, [&](const auto& row) { return row.name != lowest; });
  return rows;
}

std::string filter_of(const Json& port, const std::string& interface, const std::vector<std::uint8_t>& lanes,
                      const NetworkNames& names, std::vector<std::string>& notes) {
  std::vector<tc::AdmittedDscp> admitted;
  for (const Json& mark : list(port, "admitted")) {
    tc::AdmittedDscp one{static_cast<std::uint8_t>(count_of(mark, "dscp")), {}};
    for (const Json& destination : list(mark, "destinations")) {
      const auto at = names.addresses.find(text_of(destination));
      if (at != names.addresses.end()) {
        one.destinations.push_back(at->second);
      } else {
        notes.push_back(text_of(destination) + " has no address: packets of " + text_of(mark, "job") +
                        " to it are best effort");
      }
    }
    admitted.push_back(std::move(one));
  }
  return value_or_fail(tc::mark_filter(interface, lanes, admitted));
}

}  // namespace

NetworkNames read_network_names(const Json& document, const std::string& sw) {
  NetworkNames names{texts_of(document, "addresses"), texts_of(document, "interfaces"), texts_of(document, "gateways")};
  const Json& own = field(field(document, foreign("switches")), foreign(sw));
  if (own.is_null()) return names;
  for (auto& [port, interface] : texts_of(own, "interfaces")) names.interfaces[port] = interface;
  for (auto& [port, gateway] : texts_of(own, "gateways")) names.gateways[port] = gateway;
  return names;
}

SwitchScript tc_script(const Json& queues, const NetworkNames& names, std::vector<std::string>& notes) {
  std::vector<std::uint8_t> lanes;
  for (const Json& dscp : list(queues, "laneDscps")) lanes.push_back(dscp.get<std::uint8_t>());
  SwitchScript script{"#!/bin/sh\n# Classes, lanes and marks of " + text_of(queues, "switch") + "\nset -e\n", {}, {}};
  std::string& text = script.text;
  for (const Json& port : list(queues, "ports")) {
    const std::string interface = interface_of(names, text_of(port, "port"));
    script.interfaces.insert(interface);
    if (flag_of(port, "inUse")) script.speeds_mbps[interface] = count_of(port, "linkMbps");
    text += "# port " + text_of(port, "port") + ", to " + text_of(port, "peer") + "\n";
    const auto commands =
        value_or_fail(tc::htb_commands(interface, RateMbps(static_cast<std::int64_t>(count_of(port, "linkMbps"))),
                                       tc_classes(port, text_of(queues, "lowestClass"))));
    text += "tc qdisc del dev " + interface + " root 2> /dev/null || :\n";
    for (const std::string& command : commands) text += command + "\n";
    const std::string filter =
        filter_of(port, interface, flag_of(port, "facesHost") ? lanes : decltype(lanes)(), names, notes);
    text += "nft -f - <<'END'\n" + filter + "END\n";
  }
  return script;
}

SwitchScript route_script(const Json& table, const NetworkNames& names, std::vector<std::string>& notes) {
  const auto routes =
      host_routes(table, names, [&](const std::string& port) { return interface_of(names, port); }, notes);
  SwitchScript script{"#!/bin/sh\nset -e\n", {}, {}};
  for (const auto& command : value_or_fail(fabric::linux_routes::route_commands(routes))) script.text += command + "\n";
  for (const auto& route : routes) {
    if (!route.interface.empty()) script.interfaces.insert(route.interface);
  }
  return script;
}

}  // namespace railweave::cli
