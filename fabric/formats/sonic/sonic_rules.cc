#include "fabric/formats/sonic/sonic_rules.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "fabric/base/whole_number.h"

namespace railweave::fabric {
namespace {

using Json = nlohmann::json;

enum class Holds : std::uint8_t { number, choice, reference, classes };  // what a field may hold

struct FieldRule {
  Holds holds = Holds::number;
  std::int64_t least = 0, most = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string> choices;  // a table for references
  bool mandatory = false;
};

FieldRule number(std::int64_t least = 0, std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  return {.least = least, .most = most};
}
FieldRule choice(std::vector<std::string> choices) { return {.holds = Holds::choice, .choices = std::move(choices)}; }
FieldRule reference(std::string table) { return {.holds = Holds::reference, .choices = {std::move(table)}}; }
FieldRule classes() { return {.holds = Holds::classes}; }
FieldRule mandatory(FieldRule rule) {
  rule.mandatory = true;
  return rule;
}

using FieldRules = std::map<std::string, FieldRule>;

const std::map<std::string, FieldRules>& field_rules() {
  static const auto rules = [] {
    std::map<std::string, FieldRules> made;
    made["SCHEDULER"] = {{"type", choice({"DWRR", "WRR", "STRICT"})},
                         {"weight", number(1, 100)},
                         {"priority", number(0, 9)},
                         {"meter_type", choice({"packets", "bytes"})},
                         {"cir", number()},
                         {"pir", number()},
                         {"cbs", number(0, UINT32_MAX)},
                         {"pbs", number(0, UINT32_MAX)}};
    FieldRules& wred = made["WRED_PROFILE"];
    wred["ecn"] = choice({"ecn_none", "ecn_green", "ecn_yellow", "ecn_red", "ecn_green_yellow", "ecn_green_red",
                          "ecn_yellow_red", "ecn_all"});
    for (const std::string colour : {"green", "yellow", "red"}) {
      wred["wred_" + colour + "_enable"] = choice({"true", "false"});
      wred[colour + "_min_threshold"] = wred[colour + "_max_threshold"] = number();
      wred[colour + "_drop_probability"] = number(0, 100);
      wred["ecn_" + colour + "_min_threshold"] = wred["ecn_" + colour + "_max_threshold"] = number();
      wred["ecn_" + colour + "_mark_probability"] = number(0, 100);
    }
    made["PORT_QOS_MAP"] = {{"tc_to_pg_map", reference("TC_TO_PRIORITY_GROUP_MAP")},
                            {"tc_to_queue_map", reference("TC_TO_QUEUE_MAP")},
                            {"pfc_enable", classes()},
                            {"pfcwd_sw_enable", classes()},
                            {"pfc_to_queue_map", reference("MAP_PFC_PRIORITY_TO_QUEUE")},
                            {"pfc_to_pg_map", reference("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP")},
                            {"dscp_to_tc_map", reference("DSCP_TO_TC_MAP")},
                            {"tc_to_dscp_map", reference("TC_TO_DSCP_MAP")},
                            {"dot1p_to_tc_map", reference("DOT1P_TO_TC_MAP")},
                            {"tc_to_dot1p_map", reference("TC_TO_DOT1P_MAP")},
                            {"scheduler", reference("SCHEDULER")}};
    made["QUEUE"] = {{"scheduler", reference("SCHEDULER")}, {"wred_profile", reference("WRED_PROFILE")}};
    made["BUFFER_POOL"] = {{"type", mandatory(choice({"ingress", "egress", "both"}))},
                           {"mode", mandatory(choice({"static", "dynamic"}))},
                           {"size", number()},
                           {"xoff", number()},
                           {"percentage", number(0, 255)}};
    made["BUFFER_PROFILE"] = {{"pool", mandatory(reference("BUFFER_POOL"))},
                              {"size", mandatory(number())},
                              {"static_th", number()},
                              {"dynamic_th", number(-8, 7)},
                              {"xon", number()},
                              {"xoff", number()},
                              {"xon_offset", number()},
                              {"headroom_type", choice({"static", "dynamic"})},
                              {"packet_discard_action", choice({"drop", "trim"})}};
    made["PFC_WD"] = {{"action", choice({"drop", "forward", "alert"})},
                      {"detection_time", number(100, 5'000)},
                      {"restoration_time", number(100, 60'000)},
                      {"pfc_stat_history", choice({"enable", "disable"})},
                      {"POLL_INTERVAL", number(100, 3'000)}};
    made["BUFFER_PG"] = {{"profile", reference("BUFFER_PROFILE")}};
    made["BUFFER_QUEUE"] = {{"profile", reference("BUFFER_PROFILE")}};
    return made;
  }();
  return rules;
}

struct MapRule {
  std::int64_t most_key = 7, most_value = 7;
};
const std::map<std::string, MapRule>& map_rules() {
  static const std::map<std::string, MapRule> rules = {
      {"DSCP_TO_TC_MAP", {63, 7}},           {"TC_TO_QUEUE_MAP", {7, 7}},
      {"TC_TO_DSCP_MAP", {7, 63}},           {"TC_TO_PRIORITY_GROUP_MAP", {7, 7}},
      {"MAP_PFC_PRIORITY_TO_QUEUE", {7, 7}}, {"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", {7, 7}}};
  return rules;
}

std::optional<std::int64_t> number_in(const std::string& text, std::int64_t least, std::int64_t most) {
  const auto value = whole_number(text, most);
  return value && *value >= least ? value : std::nullopt;
}

class Checker {
 public:
  explicit Checker(const Json& config) : config_(config) {}

  std::vector<SonicProblem> run() {
    for (const auto& [table, rows] : config_.items()) {
      const auto map = map_rules().find(table);
      const auto fields = field_rules().find(table);
      if (map == map_rules().end() && fields == field_rules().end()) continue;
      if (!rows.is_object()) {
        note(table, "is no table");
        continue;
      }
      for (const auto& [key, row] : rows.items()) {
        const std::string entry = table + "|" + key;
        if (!row.is_object()) {
          note(entry, "is no row");
        } else if (map != map_rules().end()) {
          check_map(entry, key, row, map->second);
        } else {
          check_key(table, entry, key);
          check_row(entry, row, fields->second);
          check_between(table, entry, row);
        }
      }
    }
    return std::move(problems_);
  }

 private:
  void note(std::string entry, std::string message) { problems_.push_back({std::move(entry), std::move(message)}); }

  static bool is_name(const std::string& text) {
    const auto is_letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    return !text.empty() && text.size() <= 32 && is_letter(text[0]) &&
           std::ranges::all_of(text, [&](char c) { return is_letter(c) || c == '-' || c == '_'; });
  }

  void check_map(const std::string& entry, const std::string& name, const Json& row, MapRule rule) {
    if (!is_name(name)) note(entry, "a map's name is a letter or digit, then at most 31 of these, '-' and '_'");
    for (const auto& [from, to] : row.items()) {
      if (!number_in(from, 0, rule.most_key)) {
        note(entry + " " + from, fmt::format("'{}' is not 0 to {}", from, rule.most_key));
      }
      if (!to.is_string() || !number_in(to.get<std::string>(), 0, rule.most_value)) {
        note(entry + " " + from, fmt::format("{} is not 0 to {}", to.dump(), rule.most_value));
      }
    }
  }

  void check_port(const std::string& entry, const std::string& port) {
    const auto ports = config_.find("PORT");
    if (ports != config_.end() && !ports->contains(port)) note(entry, "there is no port " + port);
  }

  // "Ethernet0|3" or "Ethernet0|3-4".
  void check_key(const std::string& table, const std::string& entry, const std::string& key) {
    if (table == "PORT_QOS_MAP" || table == "PFC_WD") {
      if (key != "global" && key != "GLOBAL") check_port(entry, key);
      return;
    }
    if (table == "WRED_PROFILE" && !is_name(key)) note(entry, "is no name of a profile");
    if (table != "QUEUE" && table != "BUFFER_PG" && table != "BUFFER_QUEUE") return;
    const auto bar = key.rfind('|');
    if (bar == std::string::npos) return note(entry, "its key is no port and number");
    const std::string port = key.substr(0, bar), range = key.substr(bar + 1);
    if (port.find('|') == std::string::npos && port != "CPU") check_port(entry, port);  // else another line card's
    const std::int64_t most = table == "BUFFER_PG" ? 7 : table == "QUEUE" ? 48 : 15;
    const auto dash = range.find('-');
    const auto first = number_in(range.substr(0, dash), 0, most);
    const auto last = dash == std::string::npos ? first : number_in(range.substr(dash + 1), 0, most);
    if (!first || !last || *first > *last) note(entry, fmt::format("'{}' is not 0 to {}", range, most));
  }

  void check_row(const std::string& entry, const Json& row, const FieldRules& rules) {
    for (const auto& [name, rule] : rules) {
      if (rule.mandatory && !row.contains(name)) note(entry, "the field " + name + " is missing");
    }
    for (const auto& [name, value] : row.items()) {
      const auto rule = rules.find(name);
      const std::string at = entry + " " + name;
      if (rule == rules.end()) {
        note(at, "there is no such field");
      } else if (!value.is_string()) {
        note(at, "values are texts");
      } else {
        check_value(at, value.get<std::string>(), rule->second);
      }
    }
  }

  void check_value(const std::string& at, const std::string& value, const FieldRule& rule) {
    switch (rule.holds) {
      case Holds::number:
        if (!number_in(value, rule.least, rule.most)) {
          note(at,
               fmt::format(
                   "'{}' is no number from {}{}", value, rule.least,
                   rule.most == std::numeric_limits<std::int64_t>::max() ? " on" : fmt::format(" to {}", rule.most)));
        }
        return;
      case Holds::choice:
        if (std::ranges::find(rule.choices, value) == rule.choices.end()) note(at, "cannot be '" + value + "'");
        return;
      case Holds::reference: {
        const auto table = config_.find(rule.choices[0]);
        const bool none = value == "NULL" && at.starts_with("BUFFER_PG|");
        if (!none && (table == config_.end() || !table->contains(value))) {
          note(at, "there is no " + rule.choices[0] + "|" + value);
        }
        return;
      }
      case Holds::classes:
        for (std::size_t i = 0; i < value.size(); ++i) {
          const bool right = i % 2 == 0 ? value[i] >= '0' && value[i] <= '7' : value[i] == ',' && i + 1 < value.size();
          if (!right) return note(at, "'" + value + "' is no list of priorities 0 to 7");
        }
        return;
    }
  }

  static std::optional<std::int64_t> value_of(const Json& row, const std::string& name) {
    const auto at = row.find(name);
    if (at == row.end() || !at->is_string()) return std::nullopt;
    return number_in(at->get<std::string>(), std::numeric_limits<std::int64_t>::min(),
                     std::numeric_limits<std::int64_t>::max());
  }

  void check_between(const std::string& table, const std::string& entry, const Json& row) {
    const auto at_least = [&](const std::string& high, const std::string& low) {
      const auto a = value_of(row, high), b = value_of(row, low);
      if (a && b && *a < *b) note(entry + " " + high, "is less than " + low);
    };
    const auto needs = [&](const std::string& one, const std::string& other) {
      if (row.contains(one) && value_of(row, other).value_or(0) <= 0) note(entry + " " + one, "needs " + other);
    };
    if (table == "SCHEDULER") {
      at_least("pir", "cir");
      needs("pir", "cir");
      at_least("pbs", "cbs");
      needs("cbs", "cir");
      needs("pbs", "pir");
    } else if (table == "WRED_PROFILE") {
      const std::string marks = row.contains("ecn") && row["ecn"].is_string() ? row["ecn"].get<std::string>() : "";
      for (const std::string colour : {"green", "yellow", "red"}) {
        at_least(colour + "_max_threshold", colour + "_min_threshold");
        at_least("ecn_" + colour + "_max_threshold", "ecn_" + colour + "_min_threshold");
        if (marks == "ecn_all" || marks.find(colour) != std::string::npos) continue;
        for (const char* of : {"_min_threshold", "_max_threshold", "_mark_probability"}) {
          if (row.contains("ecn_" + colour + of)) note(entry + " ecn_" + colour + of, "ecn does not mark " + colour);
        }
      }
    } else if (table == "PFC_WD") {
      check_watchdog(entry, row);
    } else if (table == "BUFFER_POOL" && row.contains("percentage") && row.contains("size")) {
      note(entry + " percentage", "stands beside size");
    }
  }

  // It sees a storm only when it looks: at every poll.
  void check_watchdog(const std::string& entry, const Json& row) {
    if (entry == "PFC_WD|GLOBAL") return;
    if (row.contains("POLL_INTERVAL")) note(entry + " POLL_INTERVAL", "is GLOBAL's");
    for (const char* field : {"action", "detection_time"}) {
      if (!row.contains(field)) note(entry, fmt::format("the field {} is missing", field));
    }
    const auto all = config_.find("PFC_WD")->find("GLOBAL");
    const auto poll =
        all == config_.find("PFC_WD")->end() || !all->is_object() ? std::nullopt : value_of(*all, "POLL_INTERVAL");
    const auto detects = value_of(row, "detection_time");
    if (poll && detects && *detects < *poll) note(entry + " detection_time", "is less than POLL_INTERVAL");
  }

  const Json& config_;
  std::vector<SonicProblem> problems_;
};

}  // namespace

Result<std::vector<SonicProblem>> check_sonic_config(std::string_view config_db) {
  const Json config = Json::parse(config_db, nullptr, false);
  if (!config.is_object()) return fail(ErrorKind::malformed, "sonic.malformed", "is no config_db: a JSON object");
  return Checker(config).run();
}

}  // namespace railweave::fabric
