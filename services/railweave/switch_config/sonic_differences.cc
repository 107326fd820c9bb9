#include "services/railweave/switch_config/sonic_differences.h"

#include <charconv>
#include <map>
#include <optional>
#include <utility>

namespace railweave::cli {
namespace {

constexpr const char* kNothing = "-";

struct MapKind {
  const char *field, *table, *key, *value;  // of PORT_QOS_MAP; what keys and values are called
};
constexpr MapKind kMaps[] = {{"dscp_to_tc_map", "DSCP_TO_TC_MAP", "DSCP", "traffic class"},
                             {"tc_to_queue_map", "TC_TO_QUEUE_MAP", "traffic class", "queue"},
                             {"tc_to_dscp_map", "TC_TO_DSCP_MAP", "traffic class", "DSCP"}};

// A row's name as older images refer to it: "[DSCP_TO_TC_MAP|AZURE]".
std::string row_name(const Json& value) {
  std::string name = text_of(value);
  if (!name.starts_with('[') || !name.ends_with(']')) return name;
  name = name.substr(1, name.size() - 2);
  return name.substr(name.find('|') + 1);
}

// Whether a list of ports as keys have it, "Ethernet0,Ethernet4", names the port.
bool names_port(std::string_view list, std::string_view port) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (list.substr(0, comma) == port) return true;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return false;
}

std::optional<unsigned> number_of(std::string_view text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "3" or "3-4".
bool names_queue(std::string_view range, unsigned queue) {
  const auto dash = range.find('-');
  const auto first = number_of(range.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number_of(range.substr(dash + 1));
  return first && last && *first <= queue && queue <= *last;
}

const Json& port_row(const Json& tables, const std::string& port) {
  const Json& rows = field(tables, "PORT_QOS_MAP");
  if (rows.is_object()) {
    for (const auto& [key, row] : rows.items()) {
      if (names_port(key, port)) return row;
    }
  }
  return field(rows, port);
}

const Json& map_of(const Json& tables, const std::string& port, const MapKind& kind) {
  return field(field(tables, kind.table), row_name(field(port_row(tables, port), kind.field)));
}

// "DWRR, weight 21"; with what else of the scheduler limits or raises the queue.
std::string scheduler_text(const Json& tables, const std::string& name) {
  const Json& scheduler = field(field(tables, "SCHEDULER"), name);
  if (!scheduler.is_object()) return kNothing;
  std::string text = text_of(scheduler, "type");
  if (text != "STRICT") text += ", weight " + text_of(scheduler, "weight");
  for (const char* limit : {"cir", "pir"}) {
    if (const std::string value = text_of(scheduler, limit); value != kNothing && value != "0") {
      text += std::string(", ") + limit + " " + value;
    }
  }
  return text;
}

std::string queue_text(const Json& tables, const std::string& port, unsigned queue) {
  const Json& queues = field(tables, "QUEUE");
  if (!queues.is_object()) return kNothing;
  for (const auto& [key, row] : queues.items()) {
    const auto bar = key.rfind('|');
    if (bar == std::string::npos) continue;
    const std::string_view text = key;
    if (!names_port(text.substr(0, bar), port) || !names_queue(text.substr(bar + 1), queue)) continue;
    if (field(row, "scheduler").is_string()) return scheduler_text(tables, row_name(field(row, "scheduler")));
  }
  return kNothing;
}

// "3, 7-9"
std::string ranges_of(const std::vector<unsigned>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last != i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

void compare_map(const Json& wanted, const Json& has, const MapKind& kind, const std::string& port,
                 std::vector<SonicDifference>& found) {
  std::map<std::pair<std::string, std::string>, std::vector<unsigned>> keys;  // by what is wanted and what is there
  for (const auto& [key, value] : wanted.items()) {
    if (const std::string there = text_of(has, key); there != text_of(value)) {
      keys[{text_of(value), there}].push_back(number_of(key).value_or(0));
    }
  }
  for (const auto& [values, numbers] : keys) {
    const auto called = [&](const std::string& value) {
      return value == kNothing ? value : std::string(kind.value) + " " + value;
    };
    found.push_back(
        {port, std::string(kind.key) + " " + ranges_of(numbers), called(values.first), called(values.second)});
  }
}

// "10.9.0.1 Ethernet32"; several next hops as they are listed.
std::string route_text(const Json& routes, const std::string& key) {
  const std::string_view text = key;
  const Json* row = &field(routes, text);
  // The default VRF need not be named.
  if (!row->is_object()) row = &field(routes, text.substr(text.find('|') + 1));
  if (!row->is_object()) return kNothing;
  if (text_of(*row, "blackhole") == "true") return "dropped";
  std::string gateway = text_of(*row, "nexthop");
  std::string interface = text_of(*row, "ifname");
  if (gateway.empty() || gateway == kNothing || gateway == "0.0.0.0") return interface;
  return gateway + " " + interface;
}

void compare_routes(const Json& wanted, const Json& has, std::vector<SonicDifference>& found) {
  for (const auto& [key, row] : wanted.items()) {
    const std::string one = route_text(wanted, key), there = route_text(has, key);
    if (one != there) found.push_back({kNothing, "route " + key.substr(key.find('|') + 1), one, there});
  }
}

}  // namespace

std::vector<SonicDifference> sonic_differences(const Json& wanted, const Json& config_db) {
  std::vector<SonicDifference> found;
  for (const auto& [port, row] : field(wanted, "PORT_QOS_MAP").items()) {
    for (const MapKind& kind : kMaps) {
      compare_map(map_of(wanted, port, kind), map_of(config_db, port, kind), kind, port, found);
    }
    for (unsigned queue = 0; queue < 8; ++queue) {
      const std::string one = queue_text(wanted, port, queue);
      if (one == kNothing) continue;
      const std::string there = queue_text(config_db, port, queue);
      if (one != there) found.push_back({port, "queue " + std::to_string(queue), one, there});
    }
  }
  compare_routes(field(wanted, "STATIC_ROUTE"), field(config_db, "STATIC_ROUTE"), found);
  return found;
}

}  // namespace railweave::cli
