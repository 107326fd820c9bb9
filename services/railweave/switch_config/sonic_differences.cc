#include "services/railweave/switch_config/sonic_differences.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"

namespace railweave::cli {
namespace {

constexpr const char* kNothing = "-";

struct MapKind {
  const char *field, *table, *key, *value;  // of PORT_QOS_MAP; what keys and values are called
};
constexpr MapKind kMaps[] = {{"dscp_to_tc_map", "DSCP_TO_TC_MAP", "DSCP", "traffic class"},
                             {"tc_to_queue_map", "TC_TO_QUEUE_MAP", "traffic class", "queue"},
                             {"tc_to_dscp_map", "TC_TO_DSCP_MAP", "traffic class", "DSCP"},
                             {"tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP", "traffic class", "priority group"},
                             {"pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", "PFC priority", "queue"},
                             {"pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "PFC priority", "priority group"}};

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

// "3" or "3-4".
bool names_queue(std::string_view range, unsigned queue) {
  const auto dash = range.find('-');
  const auto first = whole_number<unsigned>(range.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : whole_number<unsigned>(range.substr(dash + 1));
  return first && last && *first <= queue && queue <= *last;
}

const Json& port_row(const Json& tables, const std::string& port) {
  const Json& rows = field(tables, foreign("PORT_QOS_MAP"));
  if (rows.is_object()) {
    for (const auto& [key, row] : rows.items()) {
      if (names_port(key, port)) return row;
    }
  }
  return field(rows, foreign(port));
}

const Json& map_of(const Json& tables, const std::string& port, const MapKind& kind) {
  const std::string row = row_name(field(port_row(tables, port), foreign(kind.field)));
  return field(field(tables, foreign(kind.table)), foreign(row));
}

// "DWRR, weight 21"; with what else of the scheduler limits or raises the queue.
std::string scheduler_text(const Json& tables, const std::string& name) {
  const Json& scheduler = field(field(tables, foreign("SCHEDULER")), foreign(name));
  if (!scheduler.is_object()) return kNothing;
  std::string text = text_of(scheduler, "type");
  if (text == kNothing) text = "WRR";  // the model's own default, as those below
  if (text != "STRICT") {
    const std::string weight = text_of(scheduler, "weight");
    text += ", weight " + (weight == kNothing ? "1" : weight);
  }
  for (const char* limit : {"cir", "pir"}) {
    if (const std::string value = text_of(scheduler, foreign(limit)); value != kNothing && value != "0") {
      text += fmt::format(", {} {}", limit, value);
    }
  }
  if (text_of(scheduler, foreign("meter_type")) == "packets") text += " packets";
  return text;
}

// The field of the row of a table whose keys are ports and numbers, "Ethernet0|3-4"; "" where there is none.
std::string number_field(const Json& tables, const char* table, const std::string& port, unsigned number,
                         const char* name) {
  const Json& rows = field(tables, foreign(table));
  if (!rows.is_object()) return {};
  for (const auto& [key, row] : rows.items()) {
    const auto bar = key.rfind('|');
    if (bar == std::string::npos) continue;
    const std::string_view text = key;
    if (!names_port(text.substr(0, bar), port) || !names_queue(text.substr(bar + 1), number)) continue;
    if (const Json& value = field(row, foreign(name)); value.is_string()) return row_name(value);
  }
  return {};
}

std::string queue_text(const Json& tables, const std::string& port, unsigned queue) {
  const std::string scheduler = number_field(tables, "QUEUE", port, queue, "scheduler");
  return scheduler.empty() ? kNothing : scheduler_text(tables, scheduler);
}

// "marks from 400000 to 1600000 bytes, 5%": of packets in profile, which are all where nothing polices them.
std::string marking_text(const Json& tables, const std::string& port, unsigned queue) {
  const std::string name = number_field(tables, "QUEUE", port, queue, "wred_profile");
  const Json& profile = field(field(tables, foreign("WRED_PROFILE")), foreign(name));
  const std::string marks = text_of(profile, foreign("ecn"));
  if (!profile.is_object() || text_of(profile, foreign("wred_green_enable")) != "true" ||
      (marks != "ecn_all" && marks.find("green") == std::string::npos)) {
    return kNothing;
  }
  return "marks from " + text_of(profile, foreign("green_min_threshold")) + " to " +
         text_of(profile, foreign("green_max_threshold")) + " bytes, " +
         text_of(profile, foreign("green_drop_probability")) + "%";
}

// Bytes that still find room in a priority group once its sender is paused. nullopt: the switch computes them itself.
std::optional<std::uint64_t> headroom_of(const Json& tables, const std::string& port, unsigned group) {
  const std::string name = number_field(tables, "BUFFER_PG", port, group, "profile");
  if (name == "NULL") return std::nullopt;  // of the dynamic buffer model
  const Json& profile = field(field(tables, foreign("BUFFER_PROFILE")), foreign(name));
  if (text_of(profile, foreign("headroom_type")) == "dynamic") return std::nullopt;
  return profile.is_object() ? whole_number<unsigned>(text_of(profile, foreign("xoff"))).value_or(0) : 0;
}

// "3, 7-9"
std::string ranges_of(const std::vector<unsigned>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[i]);
    if (last != i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

void compare_map(const Json& wanted, const Json& has, const MapKind& kind, const std::string& port,
                 std::vector<SonicDifference>& found) {
  std::map<std::pair<std::string, std::string>, std::vector<unsigned>> keys;  // by what is wanted and what is there
  for (const auto& [key, value] : wanted.items()) {
    if (const std::string there = text_of(has, foreign(key)); there != text_of(value)) {
      keys[{text_of(value), there}].push_back(whole_number<unsigned>(key).value_or(0));
    }
  }
  for (const auto& [values, numbers] : keys) {
    const auto called = [&](const std::string& value) {
      return value == kNothing ? value : fmt::format("{} {}", kind.value, value);
    };
    found.push_back(
        {port, fmt::format("{} {}", kind.key, ranges_of(numbers)), called(values.first), called(values.second)});
  }
}

// PFC and its watchdog: "3,4" in any order.
std::string numbers_text(const Json& row, const char* name) {
  const std::string text = text_of(row, foreign(name));
  std::set<char> numbers;
  for (const char c : text) {
    if (c >= '0' && c <= '7') numbers.insert(c);
  }
  std::string sorted;
  for (const char c : numbers) sorted += (sorted.empty() ? "" : ",") + std::string(1, c);
  return sorted.empty() ? kNothing : sorted;
}

void compare(const std::string& port, const std::string& setting, const std::string& wanted, const std::string& has,
             std::vector<SonicDifference>& found) {
  if (wanted != has) found.push_back({port, setting, wanted, has});
}

// The port itself: a slower or unused one carries no promise, however its queues are.
void compare_port(const std::string& port, std::uint64_t mbps, const Json& config_db,
                  std::vector<SonicDifference>& found) {
  const Json& ports = field(config_db, foreign("PORT"));
  if (!ports.is_object()) return;
  const Json& row = field(ports, foreign(port));
  if (!row.is_object()) return found.push_back({port, "port", "there", kNothing});
  compare(port, "speed", std::to_string(mbps), text_of(row, "speed"), found);
  const std::string status = text_of(row, foreign("admin_status"));
  compare(port, "admin status", "up", status == kNothing ? "down" : status, found);  // the model's default
}

// What the port's row has beside the wanted: maps by other marks, a limit of the whole port.
void compare_others(const Json& wanted, const Json& config_db, const std::string& port,
                    std::vector<SonicDifference>& found) {
  const Json& has = port_row(config_db, port);
  for (const auto& [name, setting] : {std::pair("pfc_enable", "PFC"), std::pair("pfcwd_sw_enable", "PFC watchdog")}) {
    compare(port, setting, numbers_text(wanted, name), numbers_text(has, name), found);
  }
  if (!has.is_object()) return;
  for (const auto& [name, value] : has.items()) {
    if (wanted.contains(name) || name.starts_with("pfc")) continue;
    const bool is_limit = name == "scheduler";
    found.push_back({port, is_limit ? "whole port" : name, kNothing,
                     is_limit ? scheduler_text(config_db, row_name(value)) : row_name(value)});
  }
}

void compare_queue(const Json& wanted, const Json& config_db, const std::string& port, unsigned queue,
                   std::vector<SonicDifference>& found) {
  const std::string number = std::to_string(queue);
  if (const std::string one = queue_text(wanted, port, queue); one != kNothing) {
    compare(port, "queue " + number, one, queue_text(config_db, port, queue), found);
    compare(port, "ECN of queue " + number, marking_text(wanted, port, queue), marking_text(config_db, port, queue),
            found);
  }
  const std::uint64_t needs = headroom_of(wanted, port, queue).value_or(0);
  if (needs == 0) return;
  if (const auto has = headroom_of(config_db, port, queue); has && *has < needs) {
    found.push_back({port, "headroom of priority group " + number, std::to_string(needs), std::to_string(*has)});
  }
  // A queue whose senders are paused must not drop: it has not the profile of one that does.
  const std::string profile = number_field(config_db, "BUFFER_QUEUE", port, queue, "profile");
  if (profile.empty() || profile == number_field(config_db, "BUFFER_QUEUE", port, 0, "profile")) {
    found.push_back({port, "buffers of queue " + number, "lossless", profile.empty() ? kNothing : profile});
  }
}

// "10.9.0.1 Ethernet32"; several next hops as they are listed.
std::string route_text(const Json& routes, const std::string& key) {
  const std::string_view text = key;
  const Json* row = &field(routes, foreign(text));
  // The default VRF need not be named.
  if (!row->is_object()) row = &field(routes, foreign(text.substr(text.find('|') + 1)));
  if (!row->is_object()) return kNothing;
  if (text_of(*row, foreign("blackhole")) == "true") return "dropped";
  std::string gateway = text_of(*row, foreign("nexthop"));
  std::string interface = text_of(*row, foreign("ifname"));
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

std::vector<SonicDifference> sonic_differences(const Json& wanted, const Json& config_db,
                                               const std::map<std::string, std::uint64_t>& speeds_mbps) {
  std::vector<SonicDifference> found;
  for (const auto& [port, row] : field(wanted, foreign("PORT_QOS_MAP")).items()) {
    if (const auto speed = speeds_mbps.find(port); speed != speeds_mbps.end()) {
      compare_port(port, speed->second, config_db, found);
    }
    for (const MapKind& kind : kMaps) {
      compare_map(map_of(wanted, port, kind), map_of(config_db, port, kind), kind, port, found);
    }
    compare_others(row, config_db, port, found);
    for (unsigned queue = 0; queue < 8; ++queue) compare_queue(wanted, config_db, port, queue, found);
  }
  compare_routes(field(wanted, foreign("STATIC_ROUTE")), field(config_db, foreign("STATIC_ROUTE")), found);
  return found;
}

}  // namespace railweave::cli
