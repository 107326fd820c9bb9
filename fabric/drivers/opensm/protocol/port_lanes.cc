#include "fabric/drivers/opensm/protocol/port_lanes.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "fabric/drivers/opensm/protocol/protocol_line.h"

namespace railweave::fabric::opensm {
namespace {

constexpr std::size_t kMaxWeights = 64;
constexpr std::string_view kDigits = "0123456789abcdef";

std::string text_of(PortRef port) { return fmt::format("{}/{}", to_string(port.device), port.port); }

std::string text_of(const LaneMap& map) {
  std::string text;
  for (const std::uint8_t lane : map) text += kDigits[lane & 15U];
  return text;
}

std::string text_of(std::uint16_t levels) {
  std::string text;
  for (int digit = 3; digit >= 0; --digit) text += kDigits[levels >> (4 * digit) & 15U];
  return text;
}

std::optional<PortRef> port_ref(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto guid = parse_guid(text.substr(0, slash));
  const auto port = whole_number<std::uint8_t>(text.substr(slash + 1));
  if (!guid || !port) return std::nullopt;
  return PortRef{*guid, *port};
}

std::optional<LaneMap> lane_map(std::string_view text) {
  LaneMap map{};
  if (text.size() != map.size()) return std::nullopt;
  for (std::size_t level = 0; level < map.size(); ++level) {
    const auto digit = kDigits.find(text[level]);
    if (digit == std::string_view::npos) return std::nullopt;
    map[level] = static_cast<std::uint8_t>(digit);
  }
  return map;
}

std::optional<std::uint16_t> level_set(std::string_view text) {
  return text.size() == 4 ? whole_number<std::uint16_t>(text, UINT16_MAX, 16) : std::nullopt;
}

std::optional<std::vector<VlWeight>> lane_weights(std::string_view text) {
  std::vector<VlWeight> weights;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    const auto one = text.substr(0, end);
    const auto colon = one.find(':');
    if (colon == std::string_view::npos || weights.size() == kMaxWeights) return std::nullopt;
    const auto lane = whole_number<std::uint8_t>(one.substr(0, colon));
    const auto weight = whole_number<std::uint8_t>(one.substr(colon + 1));
    if (!lane || !weight) return std::nullopt;
    weights.push_back({*lane, *weight});
    if (end == text.size()) return weights;
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

std::unexpected<Error> invalid_ports(std::string what, std::string where) {
  return fail(ErrorKind::invalid, "policy.invalid", std::move(what), std::move(where));
}

Result<void> check_port(PortRef port) {
  if (port.device.known() && port.port >= 1 && port.port <= 254) return {};
  return invalid_ports("a port is GUID/PORT, the GUID not 0, the port from 1 to 254", text_of(port));
}

template <class Values, class Key>
Result<void> sort_once(Values& values, Key key, const char* what) {
  std::ranges::sort(values, {}, key);
  const auto twice = std::ranges::adjacent_find(values, {}, key);
  if (twice == values.end()) return {};
  return invalid_ports(what, text_of(std::get<0>(key(*twice))));
}

}  // namespace

const PortLanes* PortPolicy::find(PortRef port) const {
  const auto at = std::ranges::lower_bound(lanes, port, {}, &PortLanes::port);
  return at == lanes.end() || at->port != port ? nullptr : &*at;
}

std::optional<LaneMap> PortPolicy::map(Guid device, std::uint8_t in, std::uint8_t out) const {
  const PortLanes* const leaves = find({device, out});
  if (leaves == nullptr) return std::nullopt;
  const PortRef enters{device, in};
  const auto key = [](const CrossingLanes& one) { return std::pair(one.in, one.out); };
  const auto crosses = std::ranges::lower_bound(crossing, std::pair(enters, out), {}, key);
  if (crosses != crossing.end() && key(*crosses) == std::pair(enters, out)) return crosses->map;
  LaneMap map = leaves->map;
  const auto passes = std::ranges::lower_bound(entering, enters, {}, &EnteringLevels::port);
  if (passes == entering.end() || passes->port != enters) return map;
  for (unsigned level = 0; level < map.size(); ++level) {
    if ((passes->levels >> level & 1U) == 0) map[level] = kDropLane;
  }
  return map;
}

Result<void> make_canonical(PortPolicy& policy) {
  for (const PortLanes& one : policy.lanes) {
    if (auto checked = check_port(one.port); !checked) return checked;
    const bool has_vl15 = std::ranges::any_of(one.weights, [](VlWeight entry) { return entry.vl > 14; });
    if (one.weights.empty() || one.weights.size() > kMaxWeights || has_vl15) {
      return invalid_ports("a port has 1 to 64 weights, of lanes 0 to 14", text_of(one.port));
    }
  }
  for (const EnteringLevels& one : policy.entering) {
    if (auto checked = check_port(one.port); !checked) return checked;
  }
  for (const CrossingLanes& one : policy.crossing) {
    if (auto checked = check_port(one.in); !checked) return checked;
    if (auto checked = check_port({one.in.device, one.out}); !checked) return checked;
  }
  if (auto once = sort_once(
          policy.lanes, [](const PortLanes& one) { return std::tuple(one.port); },
          "the lanes of a port are given twice");
      !once) {
    return once;
  }
  if (auto once = sort_once(
          policy.entering, [](const EnteringLevels& one) { return std::tuple(one.port); },
          "what enters by a port is given twice");
      !once) {
    return once;
  }
  return sort_once(
      policy.crossing, [](const CrossingLanes& one) { return std::tuple(one.in, one.out); },
      "what crosses from a port to another is given twice");
}

PortPolicy port_policy(std::span<const PortTables> ports) {
  PortPolicy policy;
  const auto has_tables = [](const PortTables& one) { return one.sl_to_vl && one.arbitration; };
  std::map<Guid, unsigned> in_ports;  // and one more, of switches that filter
  for (const PortTables& one : ports) {
    unsigned& count = in_ports[one.port.device];
    count = std::max(count, static_cast<unsigned>(one.ingress.ports()));
    if (!one.from_ports.empty()) count = std::max(count, one.from_ports.back().in + 1U);
  }
  // What all output ports of a switch let in is said once; where one of them lets in less, that is a crossing.
  for (const PortTables& one : ports) {
    if (!has_tables(one)) continue;
    policy.lanes.push_back({one.port, *one.sl_to_vl, one.arbitration->low});
    for (unsigned in = 1; in < in_ports[one.port.device]; ++in) {
      policy.entering.push_back({{one.port.device, static_cast<std::uint8_t>(in)}, one.ingress.from(in)});
    }
  }
  std::ranges::sort(policy.entering);
  std::vector<EnteringLevels> loosest;
  for (const EnteringLevels& one : policy.entering) {
    if (!loosest.empty() && loosest.back().port == one.port) {
      loosest.back().levels |= one.levels;
    } else {
      loosest.push_back(one);
    }
  }
  std::erase_if(loosest, [](const EnteringLevels& one) { return one.levels == IngressFilter::kAll; });
  policy.entering = std::move(loosest);
  std::ranges::sort(policy.lanes, {}, &PortLanes::port);
  std::vector<CrossingLanes> crossing;
  for (const PortTables& one : ports) {
    if (!has_tables(one)) continue;
    for (unsigned in = 1; in < in_ports[one.port.device]; ++in) {
      const auto number = static_cast<std::uint8_t>(in);
      const LaneMap wanted = one.sl_to_vl_from(in);
      if (wanted == policy.map(one.port.device, number, one.port.port)) continue;
      crossing.push_back({{one.port.device, number}, one.port.port, wanted});
    }
  }
  std::ranges::sort(crossing);
  policy.crossing = std::move(crossing);
  return policy;
}

std::string write_lines(const PortPolicy& policy) {
  std::string text;
  for (const PortLanes& one : policy.lanes) {
    text += "lanes " + text_of(one.port) + " " + text_of(one.map) + " ";
    for (std::size_t i = 0; i < one.weights.size(); ++i) {
      text += fmt::format("{}{}:{}", i == 0 ? "" : ",", one.weights[i].vl, one.weights[i].weight);
    }
    text += "\n";
  }
  for (const EnteringLevels& one : policy.entering)
    text += "enter " + text_of(one.port) + " " + text_of(one.levels) + "\n";
  for (const CrossingLanes& one : policy.crossing) {
    text += fmt::format("cross {} {} {}\n", text_of(one.in), one.out, text_of(one.map));
  }
  return text;
}

bool add_port_line(std::string_view line, PortPolicy& policy) {
  const auto split = words_of<4>(line);
  if (!split) return false;
  const auto& [words, count] = *split;
  const auto port = count >= 3 ? port_ref(words[1]) : std::nullopt;
  if (!port) return false;
  if (words[0] == "lanes" && count == 4) {
    const auto map = lane_map(words[2]);
    auto weights = lane_weights(words[3]);
    if (map && weights) policy.lanes.push_back({*port, *map, std::move(*weights)});
    return map && weights;
  }
  if (words[0] == "enter" && count == 3) {
    const auto levels = level_set(words[2]);
    if (levels) policy.entering.push_back({*port, *levels});
    return levels.has_value();
  }
  if (words[0] == "cross" && count == 4) {
    const auto out = whole_number<std::uint8_t>(words[2]);
    const auto map = lane_map(words[3]);
    if (out && map) policy.crossing.push_back({*port, *out, *map});
    return out && map;
  }
  return false;
}

}  // namespace railweave::fabric::opensm
