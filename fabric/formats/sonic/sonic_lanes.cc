#include "fabric/formats/sonic/sonic_lanes.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace railweave::fabric {
namespace {

constexpr const char* kLaneMap = "RAILWEAVE_LANES";

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
    dscp[one.dscp] = taken[one.traffic_class] = true;
  }
  if (lanes.lowest_class > 7 || !taken[lanes.lowest_class]) return refuse("other traffic has no class", "/lowestClass");
  std::set<std::string> names;
  for (const SonicLanePort& port : lanes.ports) {
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
    if (sum > 100) return refuse("the weights sum to " + std::to_string(sum) + " of 100", port.name);
    for (const std::uint8_t mark : port.distrusted) {
      if (mark > 63 || !dscp[mark]) return refuse("a DSCP that is not trusted is no mark's", port.name);
    }
  }
  return {};
}

class Rows {
 public:
  void add(const std::string& key, const std::string& object) { text_ += separator() + "\"" + key + "\":" + object; }
  void field(const std::string& key, const std::string& value) { add(key, "\"" + value + "\""); }
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

}  // namespace

Result<std::string> write_sonic_lanes(const SonicLanes& lanes) {
  if (const auto checked = check_lanes(lanes); !checked) return std::unexpected(checked.error());
  Rows trusts, same, marks, schedulers, ports, queues;
  std::map<std::vector<std::uint8_t>, std::string> map_of;  // by what is not trusted
  std::set<unsigned> weights;
  for (const SonicLanePort& port : lanes.ports) {
    auto distrusted = port.distrusted;
    std::ranges::sort(distrusted);
    distrusted.erase(std::unique(distrusted.begin(), distrusted.end()), distrusted.end());
    auto& name = map_of[distrusted];
    if (name.empty()) {
      name = kLaneMap;
      for (const std::uint8_t dscp : distrusted) name += "_NO" + std::to_string(dscp);
      if (name.size() > 32) name = std::string(kLaneMap) + "_T" + std::to_string(map_of.size());
    }
    Rows row;
    row.field("dscp_to_tc_map", name);
    row.field("tc_to_dscp_map", kLaneMap);
    row.field("tc_to_queue_map", kLaneMap);
    ports.add(port.name, row.object());
    for (const SonicQueue& queue : port.queues) {
      Rows one;
      one.field("scheduler", "scheduler.lanes." + std::to_string(queue.weight));
      queues.add(port.name + "|" + std::to_string(queue.traffic_class), one.object());
      weights.insert(queue.weight);
    }
  }
  for (const auto& [distrusted, name] : map_of) trusts.add(name, dscp_map(lanes, distrusted));
  for (unsigned tc = 0; tc < 8; ++tc) same.field(std::to_string(tc), std::to_string(tc));
  auto by_class = lanes.marks;
  std::ranges::sort(by_class, {}, &SonicMark::traffic_class);
  for (const SonicMark& one : by_class) marks.field(std::to_string(one.traffic_class), std::to_string(one.dscp));
  for (const unsigned weight : weights) {
    Rows one;
    one.field("type", "DWRR");
    one.field("weight", std::to_string(weight));
    schedulers.add("scheduler.lanes." + std::to_string(weight), one.object());
  }
  Rows queue_map, mark_map;
  queue_map.add(kLaneMap, same.object());
  mark_map.add(kLaneMap, marks.object());
  return "{\n\"DSCP_TO_TC_MAP\":" + trusts.object() + ",\n\"TC_TO_QUEUE_MAP\":" + queue_map.object() +
         ",\n\"TC_TO_DSCP_MAP\":" + mark_map.object() + ",\n\"SCHEDULER\":" + schedulers.object() +
         ",\n\"PORT_QOS_MAP\":" + ports.object() + ",\n\"QUEUE\":" + queues.object() + "\n}\n";
}

}  // namespace railweave::fabric
