#include "services/railweave/lab/engine_comparison.h"

#include <chrono>
#include <cstdio>

#include "fabric/routing/engine_registry.h"
#include "fabric/routing/plane/parallel_for.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

void measure(const fabric::RoutingEngine& engine, const fabric::RoutingInput& input, ComparedEngine& one) {
  const auto started = std::chrono::steady_clock::now();
  const auto routing = engine.route(input);
  one.route_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
  if (!routing) {
    one.refusal = routing.error().message;
    return;
  }
  one.lanes = routing->lanes.used();
  const auto again = engine.reroute(*routing, input);
  one.incremental = again && again->incremental;
  one.audit = fabric::audit(input.view, routing->tables, routing->lanes, fabric::AuditOptions::on_all_cores());
}

}  // namespace

std::vector<ComparedEngine> compare_engines(const RoutedFabric& routed, const RouteRequest& request) {
  const auto scope = routed.routing.tables.scope_ptr();
  fabric::RoutingInput input{.view = routed.view, .scope = scope};
  input.max_lanes = static_cast<unsigned>(request.max_lanes);
  input.threads = fabric::part_count();
  const auto* const taken = fabric::choose_engine(*scope).engine;
  std::vector<ComparedEngine> engines;
  for (const auto* engine : fabric::routing_engines()) {
    ComparedEngine& one = engines.emplace_back();
    one.name = engine->name();
    one.taken = engine == taken;
    measure(*engine, input, one);
  }
  return engines;
}

Json to_json(const std::vector<ComparedEngine>& engines) {
  Json list = Json::array();
  for (const ComparedEngine& one : engines) {
    Json& value = list.emplace_back(Json{{"engine", one.name}, {"taken", one.taken}});
    if (!one.refusal.empty()) {
      value["refused"] = one.refusal;
      continue;
    }
    value["lanes"] = one.lanes;
    value["maxLinkLoadHosts"] = one.audit.max_link_load_hosts;
    value["worstShiftLoad"] = one.audit.worst_shift_load;
    value["longestRoute"] = one.audit.longest_route;
    value["nonminimalPairs"] = one.audit.nonminimal_pairs;
    value["unreachablePairs"] = one.audit.unreachable_pairs;
    value["creditLoops"] = one.audit.credit_loops;
    value["incremental"] = one.incremental;
    value["routeMs"] = one.route_ms;
  }
  return list;
}

void print_engines(Output& output, const Json& engines) {
  Table table({{.title = "ENGINE", .name = true},
               {"LANES", Align::right},
               {"FULLEST LINK", Align::right},
               {"WORST SHIFT", Align::right},
               {"DETOURS", Align::right},
               {"UNREACHABLE", Align::right},
               {"CREDIT LOOPS", Align::right},
               {"ROUTED IN", Align::right},
               {"REPAIRS"}});
  for (const Json& one : engines) {
    const std::string name = text_of(one, "engine") + (flag_of(one, "taken") ? " (auto)" : "");
    if (one.contains("refused")) {
      table.add({name, "-", "-", "-", "-", "-", "-", "-", Cell("refused: " + text_of(one, "refused"), Tone::faint)});
      continue;
    }
    char took[32];
    std::snprintf(took, sizeof took, "%.1f ms", field(one, foreign("routeMs")).get<double>());
    const auto bad_if_any = [&](FieldName what) {
      return Cell(text_of(one, what), count_of(one, what) > 0 ? Tone::bad : Tone::plain);
    };
    table.add({name, text_of(one, "lanes"), text_of(one, "maxLinkLoadHosts"), text_of(one, "worstShiftLoad"),
               text_of(one, "nonminimalPairs"), bad_if_any("unreachablePairs"), bad_if_any("creditLoops"), took,
               flag_of(one, "incremental") ? "what failed" : "all tables"});
  }
  output.text(table.text(output.terminal()) + "\n");
  output.note(
      "fullest link: pairs of hosts that cross it; worst shift: flows on one link while each host sends to one; "
      "detours: pairs "
      "with more links than necessary");
}

}  // namespace railweave::cli
