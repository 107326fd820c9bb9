// The service level that a job's ranks are told to send with: of its lane of its own, else of its class, else of unmarked packets.
// As plan_infiniband() numbers levels: the classes in their order, then the lanes of jobs' own, each with as many levels as
// the routing needs. Subnets that Railweave programs itself need one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "fabric/qos/qos_class.h"
#include "services/control/state/job_guarantee.h"

namespace railweave::control {

inline constexpr unsigned kLastServiceLevel = 15;

// Of the job's own lane where it has one and uses it; nullopt: its class does not exist, or there are more than service levels.
inline std::optional<unsigned> service_level(const fabric::QosClasses& classes, const JobGuarantee& guarantee,
                                             bool in_own_lane, unsigned routing_levels = 1) {
  const auto at = std::ranges::find(classes, guarantee.qos_class, &fabric::QosClass::name);
  const bool is_own = in_own_lane && guarantee.lane;
  if (!is_own && at == classes.end()) return std::nullopt;
  const std::size_t number = is_own ? classes.size() + *guarantee.lane
                                    : fabric::class_number(classes, static_cast<std::size_t>(at - classes.begin()));
  const std::size_t level = number * routing_levels;
  return level <= kLastServiceLevel ? std::optional(static_cast<unsigned>(level)) : std::nullopt;
}

// As a bit, on one routing level; that of unmarked packets where it has none.
inline std::uint16_t service_level_bit(const fabric::QosClasses& classes,
                                       const std::optional<JobGuarantee>& guarantee) {
  const auto level = guarantee ? service_level(classes, *guarantee, true) : std::nullopt;
  return static_cast<std::uint16_t>(1U << level.value_or(0));
}

}  // namespace railweave::control
