#include "services/railweave/switch_config/changed_routes.h"

#include <set>
#include <utility>
#include <vector>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {
namespace {

constexpr std::string_view kRouteCommand = "ip route replace ";

std::vector<std::string_view> commands_of(std::string_view script) {
  std::vector<std::string_view> commands;
  while (!script.empty()) {
    const std::size_t end = script.find('\n');
    const std::string_view line = script.substr(0, end);
    if (line.starts_with(kRouteCommand)) commands.push_back(line);
    script.remove_prefix(end == std::string_view::npos ? script.size() : end + 1);
  }
  return commands;
}

// "10.0.0.1/32"
std::string_view destination_of(std::string_view command) {
  command.remove_prefix(kRouteCommand.size());
  if (constexpr std::string_view kind = "unreachable "; command.starts_with(kind)) command.remove_prefix(kind.size());
  return command.substr(0, command.find(' '));
}

std::string script_of(const std::vector<std::string_view>& commands) {
  std::string script;
  for (const std::string_view command : commands) {
    if (script.empty()) script = "#!/bin/sh\nset -e\n";
    script.append(command).append("\n");
  }
  return script;
}

}  // namespace

ChangedRoutes changed_route_commands(std::string_view given, std::string_view wanted) {
  auto before = commands_of(given);
  const std::set<std::string_view> known(before.begin(), before.end());
  std::set<std::string_view> destinations;
  std::vector<std::string_view> commands;
  for (const std::string_view command : commands_of(wanted)) {
    if (known.contains(command)) continue;
    commands.push_back(command);
    destinations.insert(destination_of(command));
  }
  std::erase_if(before, [&](std::string_view command) { return destinations.contains(destination_of(command)); });
  return {.routes = commands.size(), .text = script_of(commands), .rest = script_of(before)};
}

Result<ChangedRoutes> changed_sonic_routes(std::string_view given, std::string_view wanted) {
  const auto before = parse_json(given.empty() ? std::string_view("{}") : given);
  if (!before) return std::unexpected(before.error());
  const auto after = parse_json(wanted);
  if (!after) return std::unexpected(after.error());
  const Json& present = field(*before, foreign("STATIC_ROUTE"));
  Json rest = present.is_object() ? present : Json::object(), rows = Json::object();
  for (const auto& [key, row] : field(*after, foreign("STATIC_ROUTE")).items()) {
    const auto at = rest.find(key);
    if (at != rest.end() && *at == row) continue;
    rows[key] = row;
    if (at != rest.end()) rest.erase(at);
  }
  ChangedRoutes changed{.routes = rows.size(), .text = {}, .rest = json_text(Json{{"STATIC_ROUTE", std::move(rest)}})};
  if (!rows.empty()) changed.text = json_text(Json{{"STATIC_ROUTE", std::move(rows)}});
  return changed;
}

}  // namespace railweave::cli
