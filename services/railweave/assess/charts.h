// Pictures of the report as inline SVG. Colours are classes of the page's style sheet, so that they follow its theme, and
// widths follow the page. Every picture has a title and a text for those who do not see it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railweave::cli {

// A histogram of two sets of loads on links, side by side: how many links carry so much. An empty second set: one alone.
struct NamedLoads {
  std::string_view name;
  std::span<const std::uint64_t> loads;
};
std::string loads_chart(const NamedLoads& ours, const NamedLoads& held);

// Bars from 0 to the most, with a value at each.
struct Bar {
  std::string name, value;
  double length = 0;
  bool bad = false;
};
std::string bars_chart(std::string_view title, const std::vector<Bar>& bars);

// Each leaf group as a row of hosts, each host a square: coloured by job, marked where it lacks a rail.
struct HostSquare {
  std::string name, job;  // empty: no job runs on it
  bool faulty = false;
  std::size_t colour = 0;
};
struct GroupRow {
  std::string name;
  std::vector<HostSquare> hosts;
};
std::string hosts_chart(const std::vector<GroupRow>& rows);

inline constexpr std::size_t kJobColours = 8;

}  // namespace railweave::cli
