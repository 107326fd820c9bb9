// The service level that a job's ranks are told to send with, as a bit: of its lane of its own, else of its class, else of
// unmarked packets. As plan_infiniband() numbers them where the routing needs one level, which are all subnets that
// Railweave programs itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "fabric/qos/qos_class.h"
#include "services/control/state/job_guarantee.h"

namespace railweave::control {

inline std::uint16_t service_level_bit(const fabric::QosClasses& classes,
                                       const std::optional<JobGuarantee>& guarantee) {
  constexpr std::size_t kLast = 15;
  std::size_t level = 0;
  if (guarantee && guarantee->lane) {
    level = classes.size() + *guarantee->lane;
  } else if (guarantee) {
    const auto at = std::ranges::find(classes, guarantee->qos_class, &fabric::QosClass::name);
    if (at != classes.end()) level = fabric::class_number(classes, static_cast<std::size_t>(at - classes.begin()));
  }
  return static_cast<std::uint16_t>(level <= kLast ? 1U << level : 1U);
}

}  // namespace railweave::control
