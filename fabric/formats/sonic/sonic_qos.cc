#include "fabric/formats/sonic/sonic_qos.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace railweave::fabric {
namespace {

constexpr const char* kMap = "RAILWEAVE";
// A queue that is paused for so long is in a pause storm or a deadlock: SONiC's own default.
constexpr unsigned kStormMs = 200;

Result<void> check(const SonicQos& qos) {
  const auto refuse = [](std::string message, const std::string& where) {
    return fail(ErrorKind::invalid, "sonic.invalid", std::move(message), where);
  };
  std::array<bool, 64> dscp{};
  std::array<bool, 8> taken{};
  unsigned sum = 0, lossless = 0;
  for (std::size_t i = 0; i < qos.classes.size(); ++i) {
    const SonicClass& one = qos.classes[i];
    const std::string where = fmt::format("/classes/{}", i);
    if (one.dscp > 63 || dscp[one.dscp]) return refuse("a DSCP is 0 to 63 and its class's own", where);
    if (one.traffic_class > 7 || taken[one.traffic_class])
      return refuse("a traffic class is 0 to 7 and its own", where);
    if (!one.strict && (one.weight < 1 || one.weight > 100)) return refuse("a DWRR weight is 1 to 100", where);
    if (one.lossless && one.traffic_class == 0) return refuse("priority group 0 is of all lossy classes", where);
    if (one.strict && one.lossless) return refuse("a strict class that others pause for cannot be lossless", where);
    if (one.ecn_min_bytes > one.ecn_max_bytes) return refuse("marking starts above where it ends", where);
    if (one.ecn_percent > 100) return refuse("a probability is at most 100 percent", where);
    dscp[one.dscp] = taken[one.traffic_class] = true;
    sum += one.strict ? 0 : one.weight;
    lossless += one.lossless ? 1U : 0U;
  }
  if (sum > 100) return refuse(fmt::format("the weights sum to {} of 100", sum), "/classes");
  if (lossless > 2) return refuse("more than two lossless classes", "/classes");
  if (qos.other_class > 7 || !taken[qos.other_class]) return refuse("other traffic has no class", "/otherClass");
  for (const std::string& port : qos.ports) {
    if (!port.starts_with("Ethernet") || port.size() == 8 || port.size() > 16 ||
        !std::ranges::all_of(port.substr(8), [](char c) { return c >= '0' && c <= '9'; })) {
      return refuse("'" + port + "' is no port: Ethernet and a number", "/ports");
    }
  }
  if (qos.buffers && !std::ranges::equal(qos.buffers->cables, qos.ports, {}, &SonicCable::port)) {
    return refuse("cables are not those of the ports", "/buffers/cables");
  }
  return {};
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string object(const Pairs& fields) {
  std::string text = "{";
  for (const auto& [name, value] : fields) text += (text.size() == 1 ? "\"" : ",\"") + name + "\":\"" + value + "\"";
  return text + "}";
}

std::string table(const std::string& name, const Pairs& rows) {  // values are objects
  std::string text = "\"" + name + "\":{";
  bool first = true;
  for (const auto& [key, value] : rows) {
    text += (first ? "\"" : ",\"") + key + "\":" + value;
    first = false;
  }
  return text + "}";
}

Pairs scheduler_of(const SonicClass& one) {
  if (!one.strict) return {{"type", "DWRR"}, {"weight", std::to_string(one.weight)}};
  Pairs fields{{"type", "STRICT"}};
  if (one.most_bytes_per_s > 0) {
    fields.emplace_back("meter_type", "bytes");
    // A limit stands beside a committed rate (sonic-scheduler.yang); the class is first up to both.
    for (const char* rate : {"cir", "pir"}) fields.emplace_back(rate, std::to_string(one.most_bytes_per_s));
  }
  return fields;
}

Pairs marking_of(const SonicClass& one) {
  Pairs fields{{"ecn", "ecn_all"}};
  for (const char* colour : {"green", "yellow", "red"}) {
    const std::string name = colour;
    fields.emplace_back("wred_" + name + "_enable", "true");
    fields.emplace_back(name + "_min_threshold", std::to_string(one.ecn_min_bytes));
    fields.emplace_back(name + "_max_threshold", std::to_string(one.ecn_max_bytes));
    fields.emplace_back(name + "_drop_probability", std::to_string(one.ecn_percent));
  }
  return fields;
}

}  // namespace

Result<std::string> write_sonic_qos(const SonicQos& qos) {
  if (const auto checked = check(qos); !checked) return std::unexpected(checked.error());
  std::array<unsigned, 64> class_of{};
  class_of.fill(qos.other_class);
  std::string lossless;
  Pairs same, groups, pause_groups, schedulers, profiles, queues, ports, watchdogs;
  std::array<bool, 8> is_lossless{};
  for (const SonicClass& one : qos.classes) {
    class_of[one.dscp] = one.traffic_class;
    is_lossless[one.traffic_class] = one.lossless;
  }
  Pairs dscps;
  for (unsigned d = 0; d < 64; ++d) dscps.emplace_back(std::to_string(d), std::to_string(class_of[d]));
  for (unsigned tc = 0; tc < 8; ++tc) {
    same.emplace_back(std::to_string(tc), std::to_string(tc));
    groups.emplace_back(std::to_string(tc), is_lossless[tc] ? std::to_string(tc) : "0");
    if (is_lossless[tc]) {
      lossless += fmt::format("{}{}", lossless.empty() ? "" : ",", tc);
      pause_groups.emplace_back(std::to_string(tc), std::to_string(tc));
    }
  }
  for (const SonicClass& one : qos.classes) {
    const std::string tc = std::to_string(one.traffic_class);
    schedulers.emplace_back("scheduler." + tc, object(scheduler_of(one)));
    Pairs queue{{"scheduler", "scheduler." + tc}};
    if (one.ecn_max_bytes > 0) {
      profiles.emplace_back("RAILWEAVE_" + tc, object(marking_of(one)));
      queue.emplace_back("wred_profile", "RAILWEAVE_" + tc);
    }
    for (const std::string& port : qos.ports) queues.emplace_back(port + "|" + tc, object(queue));
  }
  for (const std::string& port : qos.ports) {
    Pairs fields{
        {"dscp_to_tc_map", kMap}, {"tc_to_queue_map", kMap}, {"tc_to_pg_map", kMap}, {"pfc_to_queue_map", kMap}};
    if (!lossless.empty()) {
      fields.emplace_back("pfc_enable", lossless);
      fields.emplace_back("pfcwd_sw_enable", lossless);
      fields.emplace_back("pfc_to_pg_map", kMap);
      watchdogs.emplace_back(port, object({{"action", "drop"},
                                           {"detection_time", std::to_string(kStormMs)},
                                           {"restoration_time", std::to_string(kStormMs)}}));
    }
    ports.emplace_back(port, object(fields));
  }
  std::string buffers;
  if (qos.buffers) {
    SonicBuffers held = *qos.buffers;
    for (SonicCable& cable : held.cables) {
      for (const SonicClass& one : qos.classes)
        (one.lossless ? cable.lossless : cable.lossy).push_back(one.traffic_class);
    }
    const auto tables = sonic_buffer_tables(held);
    if (!tables) return std::unexpected(tables.error());
    for (const SonicTable& one : *tables) {
      Pairs rows;
      for (const auto& [key, fields] : one.rows) rows.emplace_back(key, object(fields));
      buffers += ",\n" + table(one.name, rows);
    }
  }
  // A lossless class without its priority group would be paused by no headroom, and one without a watchdog for ever.
  std::string pauses;
  if (!lossless.empty()) {
    watchdogs.emplace_back("GLOBAL", object({{"POLL_INTERVAL", std::to_string(kStormMs)}}));
    pauses = table("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", {{kMap, object(pause_groups)}}) + ",\n" +
             table("PFC_WD", watchdogs) + ",\n";
  }
  return "{\n" + table("DSCP_TO_TC_MAP", {{kMap, object(dscps)}}) + ",\n" +
         table("TC_TO_QUEUE_MAP", {{kMap, object(same)}}) + ",\n" +
         table("TC_TO_PRIORITY_GROUP_MAP", {{kMap, object(groups)}}) + ",\n" +
         table("MAP_PFC_PRIORITY_TO_QUEUE", {{kMap, object(same)}}) + ",\n" + pauses + table("SCHEDULER", schedulers) +
         ",\n" + table("WRED_PROFILE", profiles) + ",\n" + table("PORT_QOS_MAP", ports) + ",\n" +
         table("QUEUE", queues) + buffers + "\n}\n";
}

}  // namespace railweave::fabric
