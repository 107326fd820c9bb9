#include "services/control/live/status/engine_comparison.h"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

namespace railweave::control {

std::optional<std::size_t> better_engine(const std::vector<ComparedEngine>& engines, unsigned most_lanes) {
  const auto used = std::ranges::find_if(engines, &ComparedEngine::is_used);
  if (used == engines.end() || !used->problem.empty()) return std::nullopt;
  const auto is_better = [&](const ComparedEngine& one) {
    return !one.is_used && one.problem.empty() && one.lanes <= most_lanes && one.fullest * 10 <= used->fullest * 9;
  };
  std::uint64_t least = UINT64_MAX;
  for (const ComparedEngine& one : engines) {
    if (is_better(one)) least = std::min(least, one.fullest);
  }
  std::optional<std::size_t> better;
  const auto rank = [](const ComparedEngine& one) { return std::tuple(one.lanes, one.detours, one.fullest); };
  for (std::size_t i = 0; i < engines.size(); ++i) {
    if (!is_better(engines[i]) || engines[i].fullest * 20 > least * 21) continue;
    if (!better || rank(engines[i]) < rank(engines[*better])) better = i;
  }
  return better;
}

std::string setting_of(const EngineComparison& comparison) {
  if (!comparison.better) return {};
  const ComparedEngine& one = comparison.engines[*comparison.better];
  std::string text = fmt::format("routing_engine = \"{}\"", one.engine);
  if (one.lanes > 1)
    text += fmt::format(", routing_lanes = {}, and in its [[subnet]] several_lanes = true", one.max_lanes);
  return text;
}

std::string comparison_text(const EngineComparison& comparison) {
  std::string text;
  for (const ComparedEngine& one : comparison.engines) {
    if (!text.empty()) text += ", ";
    text += one.problem.empty()
                ? fmt::format("{} {} on {} {}", one.engine, one.fullest, one.lanes, one.lanes == 1 ? "lane" : "lanes")
                : fmt::format("{} not: {}", one.engine, one.problem);
  }
  return text;
}

}  // namespace railweave::control
