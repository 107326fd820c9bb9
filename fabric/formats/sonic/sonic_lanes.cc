#include "fabric/formats/sonic/sonic_lanes.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

namespace railweave::fabric {
namespace {

constexpr const char* kLaneMap = "RAILWEAVE_LANES";
constexpr unsigned kLaneStormMs =
    200;  // SONiC's own default: a queue that is paused for so long is in a storm or a deadlock
constexpr unsigned kEcnPercent = 5;  // marked at the upper threshold

Result<void> check_port(const SonicLanes& lanes, const SonicLanePort& port, std::set<std::string>& names) {
  const auto refuse = [](std::string message, const std::string& where) {
    return fail(ErrorKind::invalid, "sonic.invalid", std::move(message), where);
  };
  if (!port.name.starts_with("Ethernet") || port.name.size() == 8 || port.name.size() > 16 ||
      !std::ranges::all_of(port.name.substr(8), [](char c) { return c >= '0' && c <= '9'; }) ||
      !names.insert(port.name).second) {
    return refuse("'" + port.name + "' is no port of its own: Ethernet and a number", "/ports");
  }
  unsigned sum = 0;
  std::array<bool, 8> queued{};
  for (const SonicQueue& queue : port.queues) {
    if (queue.traffic_class > 7 || queued[queue.traffic_class]) return refuse("a queue is 0 to 7, once", port.name);
    if (queue.weight < 1 || queue.weight > 100) return refuse("a DWRR weight is 1 to 100", port.name);
    queued[queue.traffic_class] = true;
    sum += queue.weight;
  }
  if (sum > 100) return refuse(fmt::format("the weights sum to {} of 100", sum), port.name);
  for (const std::uint8_t mark : port.distrusted) {
    if (std::ranges::find(lanes.marks, mark, &SonicMark::dscp) == lanes.marks.end()) {
      return refuse("a DSCP that is not trusted is no mark's", port.name);
    }
  }
  for (const std::uint8_t one : port.lossless) {
    const auto mark = std::ranges::find(lanes.marks, one, &SonicMark::traffic_class);
    if (mark == lanes.marks.end() || !mark->lossless)
      return refuse("a lossless queue is of a lossless mark", port.name);
  }
  return {};
}

Result<void> check_lanes(const SonicLanes& lanes) {
  const auto refuse = [](std::string message, const std::string& where) {
    return fail(ErrorKind::invalid, "sonic.invalid", std::move(message), where);
  };
  std::array<bool, 64> dscp{};
  std::array<bool, 8> taken{};
  for (const SonicMark& one : lanes.marks) {
    if (one.dscp > 63 || dscp[one.dscp]) return refuse("a DSCP is 0 to 63 and its own", "/marks");
    if (one.traffic_class > 7 || taken[one.traffic_class])
      return refuse("a traffic class is 0 to 7 and its own", "/marks");
    if (one.lossless && (one.traffic_class == 0 || one.traffic_class == lanes.lowest_class)) {
      return refuse("what nothing marks, and priority group 0, cannot be lossless", "/marks");
    }
    if (one.ecn_min_bytes > one.ecn_max_bytes) return refuse("marking starts above where it ends", "/marks");
    dscp[one.dscp] = taken[one.traffic_class] = true;
  }
  if (lanes.lowest_class > 7 || !taken[lanes.lowest_class]) return refuse("other traffic has no class", "/lowestClass");
  std::set<std::string> names;
  for (const SonicLanePort& port : lanes.ports) {
    if (const auto checked = check_port(lanes, port, names); !checked) return checked;
  }
  return {};
}

class Rows {
 public:
  void add(const std::string& key, const std::string& object) { text_ += separator() + "\"" + key + "\":" + object; }
  void field(const std::string& key, const std::string& value) { add(key, "\"" + value + "\""); }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] std::string object() const { return "{" + text_ + "}"; }

 private:
  std::string separator() const { return text_.empty() ? "" : ","; }
  std::string text_;
};

std::string dscp_map(const SonicLanes& lanes, const std::vector<std::uint8_t>& distrusted) {
  std::array<unsigned, 64> to{};
  to.fill(lanes.lowest_class);
  for (const SonicMark& one : lanes.marks) {
    if (std::ranges::find(distrusted, one.dscp) == distrusted.end()) to[one.dscp] = one.traffic_class;
  }
  Rows rows;
  for (unsigned dscp = 0; dscp < 64; ++dscp) rows.field(std::to_string(dscp), std::to_string(to[dscp]));
  return rows.object();
}

std::string scheduler_name(const SonicQueue& queue) {
  return queue.strict_bytes_per_s == 0 ? fmt::format("scheduler.lanes.{}", queue.weight)
                                       : fmt::format("scheduler.strict.{}", queue.strict_bytes_per_s);
}

std::string scheduler_row(const SonicQueue& queue) {
  Rows row;
  row.field("type", queue.strict_bytes_per_s == 0 ? "DWRR" : "STRICT");
  if (queue.strict_bytes_per_s == 0) {
    row.field("weight", std::to_string(queue.weight));
    return row.object();
  }
  row.field("meter_type", "bytes");
  // A limit stands beside a committed rate (sonic-scheduler.yang).
  for (const char* rate : {"cir", "pir"}) row.field(rate, std::to_string(queue.strict_bytes_per_s));
  return row.object();
}

// Packets that can be marked are, and others dropped, from the lower threshold on.
std::string marking_row(const SonicMark& mark) {
  Rows row;
  row.field("ecn", "ecn_all");
  for (const std::string colour : {"green", "yellow", "red"}) {
    row.field("wred_" + colour + "_enable", "true");
    row.field(colour + "_min_threshold", std::to_string(mark.ecn_min_bytes));
    row.field(colour + "_max_threshold", std::to_string(mark.ecn_max_bytes));
    row.field(colour + "_drop_probability", std::to_string(kEcnPercent));
  }
  return row.object();
}

std::string numbers_text(std::vector<std::uint8_t> numbers) {
  std::ranges::sort(numbers);
  return fmt::format("{}", fmt::join(numbers, ","));
}

SonicCable cable_of(const SonicLanes& lanes, const SonicLanePort& port) {
  SonicCable cable{port.name, port.rate, port.cable_m, {}, {}, {}};
  for (const SonicMark& mark : lanes.marks) {
    if (std::ranges::find(port.lossless, mark.traffic_class) != port.lossless.end()) {
      cable.lossless.push_back(mark.traffic_class);
    } else {
      cable.lossy.push_back(mark.traffic_class);
      if (mark.lossless) cable.without_headroom.push_back(mark.traffic_class);
    }
  }
  return cable;
}

std::string buffer_text(const std::vector<SonicTable>& tables) {
  std::string text;
  for (const SonicTable& table : tables) {
    Rows rows;
    for (const auto& [key, fields] : table.rows) {
      Rows row;
      for (const auto& [name, value] : fields) row.field(name, value);
      rows.add(key, row.object());
    }
    text += ",\n\"" + table.name + "\":" + rows.object();
  }
  return text;
}

// Tables that hold one map, for all ports.
std::string map_tables(const SonicLanes& lanes) {
  Rows same, marks, groups, pauses;
  auto by_class = lanes.marks;
  std::ranges::sort(by_class, {}, &SonicMark::traffic_class);
  for (const SonicMark& one : by_class) marks.field(std::to_string(one.traffic_class), std::to_string(one.dscp));
  for (unsigned tc = 0; tc < 8; ++tc) {
    const std::string number = std::to_string(tc);
    const bool lossless = std::ranges::any_of(
        lanes.marks, [&](const SonicMark& mark) { return mark.traffic_class == tc && mark.lossless; });
    same.field(number, number);
    groups.field(number, lossless ? number : "0");
    if (lossless) pauses.field(number, number);
  }
  const auto table = [](const char* name, const Rows& map) {
    Rows rows;
    rows.add(kLaneMap, map.object());
    return fmt::format("\"{}\":{},\n", name, rows.object());
  };
  return table("TC_TO_QUEUE_MAP", same) + table("TC_TO_DSCP_MAP", marks) + table("TC_TO_PRIORITY_GROUP_MAP", groups) +
         table("MAP_PFC_PRIORITY_TO_QUEUE", same) +
         (pauses.empty() ? "" : table("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", pauses));
}

std::string port_row(const SonicLanes& lanes, const SonicLanePort& port, const std::string& trusts) {
  Rows row;
  row.field("dscp_to_tc_map", trusts);
  for (const char* map : {"tc_to_dscp_map", "tc_to_queue_map", "tc_to_pg_map", "pfc_to_queue_map"}) {
    row.field(map, kLaneMap);
  }
  const bool pauses = std::ranges::any_of(lanes.marks, &SonicMark::lossless);
  if (pauses) row.field("pfc_to_pg_map", kLaneMap);
  const std::string lossless = numbers_text(port.lossless);
  row.field("pfc_enable", lossless);
  row.field("pfcwd_sw_enable", lossless);
  return row.object();
}

}  // namespace

Result<std::string> write_sonic_lanes(const SonicLanes& lanes) {
  if (const auto checked = check_lanes(lanes); !checked) return std::unexpected(checked.error());
  Rows trusts, schedulers, profiles, ports, queues, watchdogs;
  std::map<std::vector<std::uint8_t>, std::string> map_of;  // by what is not trusted
  std::map<std::string, std::string> scheduler_rows;
  SonicBuffers buffers{lanes.asic, {}};
  for (const SonicLanePort& port : lanes.ports) {
    auto distrusted = port.distrusted;
    std::ranges::sort(distrusted);
    distrusted.erase(std::unique(distrusted.begin(), distrusted.end()), distrusted.end());
    auto& name = map_of[distrusted];
    if (name.empty()) {
      name = kLaneMap;
      for (const std::uint8_t dscp : distrusted) name += fmt::format("_NO{}", dscp);
      if (name.size() > 32) name = fmt::format("{}_T{}", kLaneMap, map_of.size());
    }
    ports.add(port.name, port_row(lanes, port, name));
    for (const SonicQueue& queue : port.queues) {
      Rows one;
      one.field("scheduler", scheduler_name(queue));
      const auto mark = std::ranges::find(lanes.marks, queue.traffic_class, &SonicMark::traffic_class);
      if (mark != lanes.marks.end() && mark->ecn_max_bytes > 0) {
        one.field("wred_profile", fmt::format("RAILWEAVE_{}", queue.traffic_class));
      }
      queues.add(fmt::format("{}|{}", port.name, queue.traffic_class), one.object());
      scheduler_rows[scheduler_name(queue)] = scheduler_row(queue);
    }
    if (!port.lossless.empty()) {
      Rows watchdog;
      watchdog.field("action", "drop");
      for (const char* time : {"detection_time", "restoration_time"})
        watchdog.field(time, std::to_string(kLaneStormMs));
      watchdogs.add(port.name, watchdog.object());
    }
    buffers.cables.push_back(cable_of(lanes, port));
  }
  const auto buffer_tables = sonic_buffer_tables(buffers);
  if (!buffer_tables) return std::unexpected(buffer_tables.error());
  for (const auto& [distrusted, name] : map_of) trusts.add(name, dscp_map(lanes, distrusted));
  for (const auto& [name, row] : scheduler_rows) schedulers.add(name, row);
  for (const SonicMark& mark : lanes.marks) {
    if (mark.ecn_max_bytes > 0) profiles.add(fmt::format("RAILWEAVE_{}", mark.traffic_class), marking_row(mark));
  }
  std::string text =
      "{\n\"DSCP_TO_TC_MAP\":" + trusts.object() + ",\n" + map_tables(lanes) + "\"SCHEDULER\":" + schedulers.object();
  if (!profiles.empty()) text += ",\n\"WRED_PROFILE\":" + profiles.object();
  if (!watchdogs.empty()) {
    Rows all;
    all.field("POLL_INTERVAL", std::to_string(kLaneStormMs));
    watchdogs.add("GLOBAL", all.object());
    text += ",\n\"PFC_WD\":" + watchdogs.object();
  }
  return text + ",\n\"PORT_QOS_MAP\":" + ports.object() + ",\n\"QUEUE\":" + queues.object() +
         buffer_text(*buffer_tables) + "\n}\n";
}

}  // namespace railweave::fabric
