#include "fabric/qos/qos_class.h"

#include <set>

#include <fmt/core.h>

namespace railweave::fabric {

QosClasses default_qos_classes() {
  return {
      {"latency", 175, 0, ClassBound::latency, true, 46},
      {"management", 50, 1, ClassBound::latency, false, 48, true},
      {"all-reduce", 350, 2, ClassBound::bandwidth, true, 26},
      {"all-to-all", 225, 3, ClassBound::bandwidth, true, 24},
      {"storage", 115, 4, ClassBound::bandwidth, true, 10, true},
      {"best-effort", 50, 5, ClassBound::bandwidth, false, 0},
  };
}

std::uint8_t lowest_class(const QosClasses& classes) {
  std::size_t lowest = 0;
  for (std::size_t c = 1; c < classes.size(); ++c) {
    if (classes[c].priority >= classes[lowest].priority) lowest = c;
  }
  return static_cast<std::uint8_t>(lowest);
}

std::uint8_t class_number(const QosClasses& classes, std::size_t qos_class) {
  const std::size_t lowest = lowest_class(classes);
  if (qos_class == lowest) return 0;
  return static_cast<std::uint8_t>(qos_class < lowest ? qos_class + 1 : qos_class);
}

Result<void> check_qos_classes(const QosClasses& classes) {
  const auto refuse = [](std::string message, std::size_t at) {
    return fail(ErrorKind::invalid, "qos.invalid", std::move(message), fmt::format("/classes/{}", at));
  };
  if (classes.empty() || classes.size() > 15) {
    return fail(ErrorKind::invalid, "qos.invalid", "there must be 1 to 15 classes", "/classes");
  }
  std::set<std::string> names;
  std::set<unsigned> dscps;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const QosClass& one = classes[i];
    if (one.name.empty() || one.name.size() > 31 ||
        one.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") !=
            std::string::npos) {
      return refuse("the name of a class must be 1 to 31 letters, digits, '-', '_' and '.'", i);
    }
    if (!names.insert(one.name).second) return refuse("two classes have the name " + one.name, i);
    if (one.share_permille == 0) return refuse("the share of " + one.name + " must be at least 1 permille", i);
    if (one.dscp > 63) return refuse("the DSCP of " + one.name + " must be at most 63", i);
    if (!dscps.insert(one.dscp).second) return refuse(fmt::format("two classes have DSCP {}", one.dscp), i);
    sum += one.share_permille;
  }
  const std::size_t lowest = lowest_class(classes);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].dscp == 0 && i != lowest) {
      return refuse("packets that nothing marks have DSCP 0 and would be in " + classes[i].name + ": only " +
                        classes[lowest].name + ", the last by priority, may have it",
                    i);
    }
  }
  if (sum > 1000) {
    return fail(ErrorKind::invalid, "qos.invalid", fmt::format("the shares sum to {} of 1000 permille", sum),
                "/classes");
  }
  return {};
}

CapacityRules capacity_rules(const QosClasses& classes, std::uint32_t usable_permille) {
  CapacityRules rules{.usable_permille = usable_permille};
  for (const QosClass& one : classes) rules.class_permille.push_back(one.share_permille);
  return rules;
}

}  // namespace railweave::fabric
