#include "fabric/generate/clos.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "fabric/base/check.h"
#include "fabric/generate/limits.h"

namespace railweave::fabric {
namespace {

// The smallest number n of switches above, a divisor of `links`, such that `below` switches with links / n links to
// each use at most `ports` ports of each; 0: there is none.
std::uint32_t min_switches_above(std::uint64_t below, std::uint32_t links, std::uint64_t ports) {
  for (std::uint32_t n = 1; n <= links; ++n) {
    if (links % n == 0 && below * (links / n) <= ports) return n;
  }
  return 0;
}

Result<void> plan_pods(const ClosSpec& spec, std::uint32_t together, ClosPlan& plan) {
  const std::uint32_t half = spec.radix / 2;
  plan.leaves_per_pod = spec.leaves_per_pod;
  if (plan.leaves_per_pod == 0) {
    const std::uint32_t wanted = std::min(half, (plan.leaves + 1) / 2);
    plan.leaves_per_pod = std::max(together, wanted / together * together);
  }
  if (plan.leaves_per_pod % together != 0) {
    return impossible(fmt::format("pods of {} leaves divide a rail unit of {} leaves", plan.leaves_per_pod, together),
                      fmt::format("make leaves-per-pod a multiple of {}", together));
  }
  plan.pods = (plan.leaves + plan.leaves_per_pod - 1) / plan.leaves_per_pod;
  return {};
}

Result<void> plan_spines(const ClosSpec& spec, ClosPlan& plan) {
  const bool three = plan.tiers == 3;
  const std::uint32_t most_down = three ? spec.radix - std::max(1U, spec.spine_uplinks) : spec.radix;
  plan.spines_per_pod = spec.spines;
  if (plan.spines_per_pod == 0 && three && spec.spine_uplinks == 0) {
    plan.spines_per_pod = min_switches_above(plan.leaves_per_pod, plan.leaf.up, spec.radix / 2);
  }
  if (plan.spines_per_pod == 0) plan.spines_per_pod = min_switches_above(plan.leaves_per_pod, plan.leaf.up, most_down);
  if (plan.spines_per_pod == 0) {
    return impossible(
        fmt::format("{} leaves do not fit under spines of {} down ports", plan.leaves_per_pod, most_down),
        three ? "use fewer leaves per pod or a larger radix" : "use 3 tiers, a larger radix or more planes");
  }
  if (plan.leaf.up % plan.spines_per_pod != 0) {
    return impossible(fmt::format("{} uplinks do not spread evenly over {} spines", plan.leaf.up, plan.spines_per_pod),
                      "spines must divide the uplinks of a leaf");
  }
  plan.links_per_spine = plan.leaf.up / plan.spines_per_pod;
  const std::uint64_t down_used = std::uint64_t{plan.leaves_per_pod} * plan.links_per_spine;
  if (down_used > most_down) {
    return impossible(
        fmt::format("a spine needs {} ports for {} leaves and has {}", down_used, plan.leaves_per_pod, most_down),
        three ? "use more spines, fewer leaves per pod or a larger radix"
              : "use more spines, 3 tiers, a larger radix or more planes");
  }
  return {};
}

Result<void> plan_cores(const ClosSpec& spec, ClosPlan& plan) {
  const std::uint32_t down_used = plan.leaves_per_pod * plan.links_per_spine;
  const std::uint32_t uplinks =
      spec.spine_uplinks > 0 ? spec.spine_uplinks : std::min(down_used, spec.radix - down_used);
  if (spec.cores > 0) {
    if (spec.cores % plan.spines_per_pod != 0 || uplinks % (spec.cores / plan.spines_per_pod) != 0) {
      return impossible(fmt::format("{} cores do not spread evenly over {} spines of a pod with {} uplinks each",
                                    spec.cores, plan.spines_per_pod, uplinks),
                        "cores must be the spines of a pod times a divisor of their uplinks");
    }
    plan.cores_per_group = spec.cores / plan.spines_per_pod;
  } else {
    plan.cores_per_group = min_switches_above(plan.pods, uplinks, spec.radix);
  }
  if (plan.cores_per_group == 0 || std::uint64_t{plan.pods} * (uplinks / plan.cores_per_group) > spec.radix) {
    return impossible(fmt::format("{} pods do not fit under cores of {} ports", plan.pods, spec.radix),
                      "use more cores, larger pods, a larger radix or more planes");
  }
  plan.links_per_core = uplinks / plan.cores_per_group;
  return {};
}

}  // namespace

Result<LeafPorts> leaf_ports(const ClosSpec& spec) {
  const auto scaled = [](std::uint32_t n, std::uint32_t by, std::uint32_t per) {
    return static_cast<std::uint32_t>(std::uint64_t{n} * by / per);
  };
  const auto [over, under] = spec.oversubscription;
  if (spec.tiers == 1) {
    return LeafPorts{spec.down_ports > 0 ? std::min(spec.down_ports, spec.radix) : spec.radix, 0};
  }
  LeafPorts ports{spec.down_ports, spec.uplinks};
  if (ports.down == 0 && ports.up == 0) ports.down = scaled(spec.radix, over, over + under);
  if (ports.down == 0 && ports.up < spec.radix)
    ports.down = std::min(spec.radix - ports.up, scaled(ports.up, over, under));
  if (ports.up == 0 && ports.down < spec.radix) {
    const std::uint64_t wanted = (std::uint64_t{ports.down} * under + over - 1) / over;
    ports.up = static_cast<std::uint32_t>(std::min<std::uint64_t>(spec.radix - ports.down, wanted));
  }
  if (ports.down == 0 || ports.up == 0 || ports.down + ports.up > spec.radix) {
    return impossible(
        fmt::format("a leaf with {} ports cannot have {} down ports and {} uplinks", spec.radix, ports.down, ports.up),
        "check radix, oversubscription, down-ports and uplinks");
  }
  return ports;
}

Result<ClosPlan> plan_clos(const ClosSpec& spec, std::uint64_t leaves, std::uint32_t leaves_together) {
  static constexpr std::uint64_t kMaxLeaves = TopologyBuilder::kMaxSwitches;
  if (spec.tiers < 1 || spec.tiers > 3 || spec.radix < 2 || spec.radix > TopologyBuilder::kMaxPortsPerDevice) {
    return impossible(fmt::format("{} tiers of switches with {} ports", spec.tiers, spec.radix),
                      "1 to 3 tiers and 2 to 1024 ports are possible");
  }
  if (leaves == 0 || leaves > kMaxLeaves) {
    return impossible(fmt::format("{} leaves", leaves), fmt::format("1 to {} are possible", kMaxLeaves));
  }
  const auto ports = leaf_ports(spec);
  if (!ports) return std::unexpected(ports.error());
  ClosPlan plan;
  plan.radix = spec.radix;
  plan.tiers = spec.tiers;
  plan.leaf = *ports;
  plan.leaves = static_cast<std::uint32_t>(leaves);
  plan.leaves_per_pod = plan.leaves;
  if (spec.tiers == 1) {
    if (leaves == 1) return plan;
    return impossible(fmt::format("one tier has no links between switches, but {} leaves are needed", leaves),
                      "use 2 tiers, a larger radix or fewer hosts");
  }
  if (spec.tiers == 3) {
    if (spec.spine_uplinks >= spec.radix) {
      return impossible(fmt::format("a spine has {} uplinks of {} ports", spec.spine_uplinks, spec.radix),
                        "use fewer spine-uplinks");
    }
    if (auto done = plan_pods(spec, leaves_together, plan); !done) return std::unexpected(done.error());
  }
  if (auto done = plan_spines(spec, plan); !done) return std::unexpected(done.error());
  if (spec.tiers == 3) {
    if (auto done = plan_cores(spec, plan); !done) return std::unexpected(done.error());
  }
  return plan;
}

std::string pod_name(const ClosPlan& plan, std::uint32_t leaf) {
  return plan.tiers == 3 ? numbered("pod-", leaf / plan.leaves_per_pod, plan.pods) : std::string();
}

void build_clos_above(const ClosPlan& plan, const std::vector<SwitchDraft>& leaves, NetworkDraft& network) {
  if (plan.tiers == 1) return;
  RAILWEAVE_CHECK(leaves.size() == plan.leaves, "the number of leaves is the planned one");
  std::vector<SwitchDraft> spines;  // pod by pod
  for (std::uint32_t pod = 0; pod < plan.pods; ++pod) {
    const std::string group = pod_name(plan, pod * plan.leaves_per_pod);
    for (std::uint32_t s = 0; s < plan.spines_per_pod; ++s) {
      const std::size_t n = spines.size();
      spines.push_back(
          network.add_switch(numbered("spine-", n, std::size_t{plan.pods} * plan.spines_per_pod), plan.radix, group));
    }
  }
  for (std::uint32_t leaf = 0; leaf < plan.leaves; ++leaf) {
    const std::uint32_t pod = leaf / plan.leaves_per_pod;
    const std::uint32_t place = leaf % plan.leaves_per_pod;
    std::uint32_t port = plan.leaf.down;
    for (std::uint32_t s = 0; s < plan.spines_per_pod; ++s) {
      for (std::uint32_t l = 0; l < plan.links_per_spine; ++l) {
        network.join(leaves[leaf], ++port, spines[pod * plan.spines_per_pod + s], place * plan.links_per_spine + l + 1);
      }
    }
  }
  if (plan.tiers == 2) return;
  for (std::uint32_t group = 0; group < plan.spines_per_pod; ++group) {
    for (std::uint32_t c = 0; c < plan.cores_per_group; ++c) {
      const std::uint32_t n = group * plan.cores_per_group + c;
      const SwitchDraft core =
          network.add_switch(numbered("core-", n, std::size_t{plan.spines_per_pod} * plan.cores_per_group), plan.radix);
      for (std::uint32_t pod = 0; pod < plan.pods; ++pod) {
        const SwitchDraft spine = spines[pod * plan.spines_per_pod + group];
        const std::uint32_t first_up = plan.leaves_per_pod * plan.links_per_spine;
        for (std::uint32_t l = 0; l < plan.links_per_core; ++l) {
          network.join(core, pod * plan.links_per_core + l + 1, spine, first_up + c * plan.links_per_core + l + 1);
        }
      }
    }
  }
}

}  // namespace railweave::fabric
