// Classes of traffic and what each is due of every link. Plain values; what they become on a subnet is in
// infiniband_plan.h and ethernet_plan.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/capacity/ledger.h"

namespace railweave::fabric {

enum class ClassBound : std::uint8_t { latency, bandwidth };  // what its traffic waits for

struct QosClass {
  std::string name;                  // "all-reduce"; as services and files write it
  std::uint32_t share_permille = 0;  // of each link, guaranteed; those of all classes sum to 1000 at most
  std::uint8_t priority = 0;         // 0 first: the order in which spare turns are given, and lanes and queues numbered
  ClassBound bound = ClassBound::bandwidth;
  bool lossless = true;   // InfiniBand always is; Ethernet by PFC
  std::uint8_t dscp = 0;  // on Ethernet, 0 to 63, its own
};

// Class numbers are places in this list.
using QosClasses = std::vector<QosClass>;

// Latency (tensor and pipeline groups), all-reduce (data-parallel bulk), all-to-all (experts), storage, management, and
// best-effort for what nobody reserved for.
QosClasses default_qos_classes();

// 1 to 15 classes; names and DSCPs of their own, shares of at least 1 and at most 1000 in all.
Result<void> check_qos_classes(const QosClasses& classes);

CapacityRules capacity_rules(const QosClasses& classes, std::uint32_t usable_permille = 950);

}  // namespace railweave::fabric
