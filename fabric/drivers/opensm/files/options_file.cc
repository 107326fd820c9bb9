// write_opensm_options: one "name value" a line, as `opensm --create-config` writes them.
#include <set>

#include <fmt/core.h>

#include "fabric/drivers/opensm/files/file_words.h"
#include "fabric/drivers/opensm/files/opensm_files.h"

namespace railweave::fabric::opensm {
namespace {

constexpr std::size_t kMaxValue = 900;  // OpenSM reads lines of 1024 bytes
constexpr std::size_t kMaxWeights = 64;

class OptionLines {
 public:
  Result<void> add(const std::string& name, const std::string& value) {
    if (!is_file_name_word(name)) return file_refused("no name of an option", name);
    if (!is_file_value(value, kMaxValue)) {
      return file_refused(fmt::format("a value has 1 to {} printable characters, no '#' or quotes", kMaxValue), name);
    }
    if (!names_.insert(name).second) return file_refused("the option is given twice", name);
    text += name + " " + value + "\n";
    return {};
  }
  Result<void> add_path(const std::string& name, const std::string& path) {
    if (path.empty()) return {};
    if (path.front() != '/' || path.find(' ') != std::string::npos) {
      return file_refused("a file is named by its absolute path, without blanks", name);
    }
    return add(name, path);
  }
  std::string text = "# Written by Railweave; changes made here are lost.\n";

 private:
  std::set<std::string> names_;
};

Result<std::string> weights_text(const std::vector<LaneWeight>& weights, unsigned max_lanes, const std::string& where) {
  if (weights.empty() || weights.size() > kMaxWeights) {
    return file_refused(fmt::format("a table of lane weights has 1 to {} entries", kMaxWeights), where);
  }
  std::string text;
  for (const LaneWeight& entry : weights) {
    if (entry.lane >= max_lanes) return file_refused(fmt::format("there is no lane {}", entry.lane), where);
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", entry.lane, entry.weight);
  }
  return text;
}

Result<void> add_sharing(OptionLines& lines, const std::string& prefix, const LaneSharing& sharing) {
  const unsigned lanes = sharing.max_lanes;
  if (lanes != 1 && lanes != 2 && lanes != 4 && lanes != 8 && lanes != 15) {
    return file_refused("ports have 1, 2, 4, 8 or 15 data lanes", prefix + "_max_vls");
  }
  const auto high = weights_text(sharing.high, lanes, prefix + "_vlarb_high");
  if (!high) return std::unexpected(high.error());
  const auto low = weights_text(sharing.low, lanes, prefix + "_vlarb_low");
  if (!low) return std::unexpected(low.error());
  std::string map;
  for (const std::uint8_t lane : sharing.lane_of_level) {
    if (lane >= lanes && lane != 15) {
      return file_refused(fmt::format("there is no lane {}", lane), prefix + "_sl2vl");
    }
    map += fmt::format("{}{}", map.empty() ? "" : ",", lane);
  }
  for (const auto& [name, value] :
       {std::pair(prefix + "_max_vls", std::to_string(lanes)),
        std::pair(prefix + "_high_limit", std::to_string(sharing.high_limit)), std::pair(prefix + "_vlarb_high", *high),
        std::pair(prefix + "_vlarb_low", *low), std::pair(prefix + "_sl2vl", map)}) {
    if (auto added = lines.add(name, value); !added) return added;
  }
  return {};
}

Result<void> add_all(OptionLines& lines, const OpenSmOptions& options) {
  std::string engines;
  for (const std::string& engine : options.routing_engines) {
    if (!is_file_name_word(engine))
      return file_refused("no name of a routing engine: '" + engine + "'", "routing_engine");
    engines += (engines.empty() ? "" : ",") + engine;
  }
  if (!engines.empty()) {
    if (auto added = lines.add("routing_engine", engines); !added) return added;
  }
  if (!options.plugin_name.empty()) {
    if (!is_file_name_word(options.plugin_name)) return file_refused("no name of a plugin", "event_plugin_name");
    if (auto added = lines.add("event_plugin_name", options.plugin_name); !added) return added;
  }
  if (!options.plugin_options.empty()) {
    if (auto added = lines.add("event_plugin_options", options.plugin_options); !added) return added;
  }
  if (auto added = lines.add_path("partition_config_file", options.partitions_file); !added) return added;
  if (auto added = lines.add_path("qos_policy_file", options.qos_policy_file); !added) return added;
  const bool qos = options.sharing || options.adapters || options.switches || options.routers;
  if (auto added = lines.add("qos", qos ? "TRUE" : "FALSE"); !added) return added;
  for (const auto& [prefix, sharing] :
       {std::pair("qos", &options.sharing), std::pair("qos_ca", &options.adapters),
        std::pair("qos_swe", &options.switches), std::pair("qos_rtr", &options.routers)}) {
    if (!*sharing) continue;
    if (auto added = add_sharing(lines, prefix, **sharing); !added) return added;
  }
  for (const auto& [name, value] : options.others) {
    if (auto added = lines.add(name, value); !added) return added;
  }
  return {};
}

}  // namespace

Result<std::string> write_opensm_options(const OpenSmOptions& options) {
  OptionLines lines;
  if (auto added = add_all(lines, options); !added) return std::unexpected(added.error());
  return std::move(lines.text);
}

}  // namespace railweave::fabric::opensm
