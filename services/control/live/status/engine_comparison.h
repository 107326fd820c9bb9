// What other routing engines would make of a live subnet as it is, beside the one that routes it. Plain values.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace railweave::control {

// Routes by one engine on at most max_lanes lanes. The numbers are of this subnet alone.
struct ComparedEngine {
  std::string engine;
  unsigned max_lanes = 0;
  unsigned lanes = 0;         // that its routes use
  std::uint64_t fullest = 0;  // pairs of host ports on the fullest link
  std::uint64_t detours = 0;  // pairs whose route is longer than necessary
  std::int64_t took_us = 0;
  bool is_used = false;
  std::string problem{};  // why it cannot route the subnet, or was not tried; "": it can, and the rest is known
};

struct EngineComparison {
  std::vector<ComparedEngine> engines;  // the one in use first
  std::int64_t at_us = 0;               // unix
  std::optional<std::size_t> better;    // of engines; none: none is better than the one in use by a clear margin
  std::string
      not_taken{};  // why that one, or none, is taken by itself where that is asked for; "": it is, or is not asked for
};
using EngineComparisonPtr = std::shared_ptr<const EngineComparison>;

// By fullest link: at least 10% less full than what is used; among those within 5% of the best, the one with the fewest lanes, then
// the fewest detours. most_lanes: of routes that count.
std::optional<std::size_t> better_engine(const std::vector<ComparedEngine>& engines, unsigned most_lanes = UINT_MAX);
// What takes the better one: settings in railweaved.toml. "": none is better.
std::string setting_of(const EngineComparison& comparison);
// For people: "up-down 21286 on 1 lane, layered 11010 on 5 lanes".
std::string comparison_text(const EngineComparison& comparison);

}  // namespace railweave::control
