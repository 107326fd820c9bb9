// Folded Clos networks of one, two or three tiers over any number of leaves. Fat trees, rail-optimized fabrics and
// storage networks are built from them.
//
//   two tiers    every leaf has the same number of links to every spine
//   three tiers  leaves and spines form pods; spine j of every pod is joined to every core of core group j, so
//                there is one core group per spine of a pod (Al-Fares et al., SIGCOMM 2008)
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/generate/network_draft.h"
#include "fabric/generate/parameters.h"

namespace railweave::fabric {

// 0: chosen for the smallest fabric in which no spine is oversubscribed.
struct ClosSpec {
  std::uint32_t tiers = 2;           // 1 to 3
  std::uint32_t radix = 64;          // ports of every switch
  Ratio oversubscription;            // of leaves: down ports to uplinks
  std::uint32_t down_ports = 0;      // of a leaf
  std::uint32_t uplinks = 0;         // of a leaf
  std::uint32_t spines = 0;          // of a pod; with two tiers, in total
  std::uint32_t leaves_per_pod = 0;  // three tiers
  std::uint32_t spine_uplinks = 0;   // three tiers
  std::uint32_t cores = 0;           // three tiers, in total
};

struct LeafPorts {
  std::uint32_t down = 0;
  std::uint32_t up = 0;
};
Result<LeafPorts> leaf_ports(const ClosSpec& spec);

struct ClosPlan {
  std::uint32_t radix = 0;
  std::uint32_t tiers = 0;
  LeafPorts leaf;
  std::uint32_t leaves = 0;
  std::uint32_t leaves_per_pod = 0;  // the last pod may have fewer
  std::uint32_t pods = 1;
  std::uint32_t spines_per_pod = 0;
  std::uint32_t links_per_spine = 0;  // between a leaf and a spine of its pod
  std::uint32_t cores_per_group = 0;
  std::uint32_t links_per_core = 0;  // between a spine and a core of its group

  [[nodiscard]] std::uint64_t switches() const {
    return leaves + std::uint64_t{pods} * spines_per_pod + std::uint64_t{spines_per_pod} * cores_per_group;
  }
};
// Pods are filled with leaves in order; each run of `leaves_together` leaves is in one pod.
Result<ClosPlan> plan_clos(const ClosSpec& spec, std::uint64_t leaves, std::uint32_t leaves_together = 1);

// The name of the pod that a leaf is in; "" with fewer than three tiers.
std::string pod_name(const ClosPlan& plan, std::uint32_t leaf);

// Adds spines and cores above the leaves and cables them. A leaf's uplinks follow its down ports.
void build_clos_above(const ClosPlan& plan, const std::vector<SwitchDraft>& leaves, NetworkDraft& network);

}  // namespace railweave::fabric
