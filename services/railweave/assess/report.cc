#include "services/railweave/assess/report.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace railweave::cli {
namespace {

std::size_t rank_of(const std::string& severity) {
  constexpr std::array<std::string_view, 3> kOrder{"error", "warning", "info"};
  return static_cast<std::size_t>(std::ranges::find(kOrder, severity) - kOrder.begin());
}

}  // namespace

std::vector<const Advice*> all_advice(const Report& report) {
  std::vector<const Advice*> all;
  for (const ReportSection& section : report.sections) {
    for (const Advice& advice : section.advice) all.push_back(&advice);
  }
  std::ranges::stable_sort(all, {}, [](const Advice* advice) { return rank_of(advice->severity); });
  return all;
}

Json to_json(const Report& report) {
  Json sources = Json::array(), findings = Json::array(), sections = Json::object();
  for (const auto& row : report.sources.rows) {
    Json source = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) source[report.sources.titles[i]] = row[i];
    sources.push_back(std::move(source));
  }
  for (const Advice* advice : all_advice(report)) findings.push_back(to_json(*advice));
  for (const ReportSection& section : report.sections) sections[section.id] = section.data;
  return {{"sources", std::move(sources)}, {"findings", std::move(findings)}, {"sections", std::move(sections)}};
}

}  // namespace railweave::cli
