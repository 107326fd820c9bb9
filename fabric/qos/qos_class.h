// Classes of traffic and the guaranteed share of each on every link. Plain values; infiniband_plan.h compiles them for
// a subnet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/capacity/ledger.h"

namespace railweave::fabric {

enum class ClassBound : std::uint8_t { latency, bandwidth };  // what limits the progress of its traffic

struct QosClass {
  std::string name;                  // "all-reduce", in messages and files
  std::uint32_t share_permille = 0;  // of each link, guaranteed; at most 1000 over all classes
  std::uint8_t priority = 0;         // 0 is first: the order of spare capacity; the last gets unmarked packets
  ClassBound bound = ClassBound::bandwidth;
  bool lossless = true;   // InfiniBand always is; Ethernet by PFC
  std::uint8_t dscp = 0;  // on Ethernet, 0 to 63, unique
  bool open = false;      // every host may send in it, not only those of jobs that have it; the lowest always is
};

// The number of a class is its index in this list.
using QosClasses = std::vector<QosClass>;

// Latency (tensor and pipeline groups), all-reduce (data-parallel bulk), all-to-all (experts), storage, management, and
// best-effort for traffic without a reservation.
QosClasses default_qos_classes();

// The class of packets that nothing marks: the one that is last by priority, of equal ones the last in the list.
std::uint8_t lowest_class(const QosClasses& classes);

// The number of a class in service levels, lanes, queues and priorities: 0 for the lowest class, because unmarked packets
// have service level 0 on InfiniBand and priority 0 on Ethernet; the others follow in the order of the list.
std::uint8_t class_number(const QosClasses& classes, std::size_t qos_class);

// Errors: not 1 to 15 classes, a name or DSCP used twice, a share of 0, shares of more than 1000 permille in total, or
// DSCP 0, which unmarked packets have, for another class than the lowest.
Result<void> check_qos_classes(const QosClasses& classes);

CapacityRules capacity_rules(const QosClasses& classes, std::uint32_t usable_permille = 950);

}  // namespace railweave::fabric
