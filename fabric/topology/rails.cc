#include "fabric/topology/rails.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "fabric/topology/leaf_sharing.h"
#include "fabric/topology/rail_islands.h"

namespace railweave::fabric {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

// Networks of switches whose rails are inferred together.
struct Island {
  std::vector<SwitchId> leaves;  // those that serve the same hosts as another leaf
  std::vector<HostId> hosts;     // on several leaves, one of them of this island
  std::uint32_t rails = 0;
  bool decided_by_cabling = false;
};

class RailInference {
 public:
  explicit RailInference(const Topology& topology)
      : topology_(topology),
        sharing_(leaves_of_rails(topology)),
        components_(switch_components(topology)),
        island_of_switch_(rail_islands(topology, sharing_, components_)),
        rail_of_leaf_(topology.switches().size(), kNone) {}

  RailAssignment run() {
    find_islands();
    collect_votes();
    for (std::uint32_t number = 0; number < islands_.size(); ++number) {
      Island& island = islands_[number];
      island.rails = typical_leaves_per_host(number);
      if (island.rails < 2) {
        forget(island);
        continue;
      }
      if (!assign_by_network(island)) assign_by_device(island);
      drop_unused_rails(island);
      judge(number);
    }
    return result();
  }

 private:
  [[nodiscard]] bool is_candidate(SwitchId leaf) const { return !sharing_.partners(leaf).empty(); }
  [[nodiscard]] std::uint32_t island_of(SwitchId sw) const { return island_of_switch_[sw.index()]; }

  void find_islands() {
    std::uint32_t count = 0;
    for (const std::uint32_t island : island_of_switch_) count = std::max(count, island + 1);
    islands_.resize(count);
    for (const auto sw : topology_.switches()) {
      if (is_candidate(sw)) islands_[island_of(sw)].leaves.push_back(sw);
    }
    for (const auto host : topology_.hosts()) {
      const auto leaves = sharing_.leaves(host);
      if (leaves.size() < 2) continue;
      for (const SwitchId leaf : leaves) {
        auto& hosts = islands_[island_of(leaf)].hosts;
        if (hosts.empty() || hosts.back() != host) hosts.push_back(host);
      }
    }
  }

  template <class Visit>
  void for_each_voting_port(std::uint32_t island, Visit visit) const {
    for (const HostId host : islands_[island].hosts) {
      for (const auto hca : topology_.hcas(host)) {
        const auto ordinal = device_ordinal(topology_.device(hca));
        for (const auto port : topology_.ports(hca)) {
          const SwitchId leaf = switch_at(topology_, port);
          if (leaf && island_of(leaf) == island) visit(host, leaf, ordinal);
        }
      }
    }
  }

  void collect_votes() {
    votes_.resize(topology_.switches().size());
    for (std::uint32_t island = 0; island < islands_.size(); ++island) {
      for_each_voting_port(island, [&](HostId, SwitchId leaf, std::optional<std::uint32_t> ordinal) {
        if (ordinal && is_candidate(leaf)) ++votes_[leaf.index()][*ordinal];
      });
    }
  }

  [[nodiscard]] std::uint32_t typical_leaves_per_host(std::uint32_t island) const {
    std::vector<std::uint32_t> counts;
    for (const HostId host : islands_[island].hosts) {
      counts.push_back(static_cast<std::uint32_t>(std::ranges::count_if(
          sharing_.leaves(host), [&](SwitchId leaf) { return island_of(leaf) == island && is_candidate(leaf); })));
    }
    if (counts.empty()) return 0;
    std::ranges::sort(counts, std::greater<>());
    return counts[counts.size() / 20];
  }

  // The ordinal of most of a leaf's ports, the smallest of equals; kNone: no device has a number.
  [[nodiscard]] std::uint32_t top_ordinal(SwitchId leaf) const {
    std::uint32_t top = kNone;
    std::uint32_t most = 0;
    for (const auto& [ordinal, count] : votes_[leaf.index()]) {
      if (count > most) std::tie(top, most) = std::pair(ordinal, count);
    }
    return top;
  }

  // One network per rail: leaves that serve the same hosts are never connected.
  bool assign_by_network(Island& island) {
    std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> votes_of;  // component -> ordinal -> ports
    for (const SwitchId leaf : island.leaves) {
      const std::uint32_t component = components_.of_switch[leaf.index()];
      for (const auto partner : sharing_.partners(leaf)) {
        if (components_.of_switch[partner.index()] == component) return false;
      }
      for (const auto& [ordinal, count] : votes_[leaf.index()]) votes_of[component][ordinal] += count;
      votes_of[component];
    }
    if (votes_of.size() > island.rails) return false;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // (most frequent ordinal, component)
    for (const auto& [component, ordinals] : votes_of) {
      const auto most = std::ranges::max_element(ordinals, {}, [](const auto& entry) { return entry.second; });
      order.emplace_back(most == ordinals.end() ? kNone : most->first, component);
    }
    std::ranges::sort(order);
    for (const SwitchId leaf : island.leaves) {
      const auto at =
          std::ranges::find(order, components_.of_switch[leaf.index()], [](const auto& e) { return e.second; });
      rail_of_leaf_[leaf.index()] = static_cast<std::uint32_t>(at - order.begin());
    }
    island.decided_by_cabling = true;
    return true;
  }

  [[nodiscard]] bool partner_has(SwitchId leaf, std::uint32_t rail) const {
    return std::ranges::any_of(sharing_.partners(leaf),
                               [&](auto other) { return rail_of_leaf_[other.index()] == rail; });
  }

  void assign_by_device(Island& island) {
    // Rails are numbered by the ordinals that are most frequent on most leaves.
    std::map<std::uint32_t, std::uint32_t> leaves_with_top;
    std::vector<std::pair<std::uint32_t, SwitchId>> candidates;  // (top ordinal, leaf)
    for (const SwitchId leaf : island.leaves) {
      const std::uint32_t top = top_ordinal(leaf);
      candidates.emplace_back(top, leaf);
      if (top != kNone) ++leaves_with_top[top];
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranked(leaves_with_top.begin(), leaves_with_top.end());
    std::ranges::stable_sort(ranked, std::greater<>(), [](const auto& entry) { return entry.second; });
    if (ranked.size() > island.rails) ranked.resize(island.rails);
    std::ranges::sort(ranked);

    struct Claim {
      std::uint32_t ports;
      SwitchId leaf;
      std::uint32_t rail;
    };
    std::vector<Claim> claims;
    for (const auto& [top, leaf] : candidates) {
      for (std::uint32_t rail = 0; rail < ranked.size(); ++rail) {
        const auto found = votes_[leaf.index()].find(ranked[rail].first);
        if (found != votes_[leaf.index()].end()) claims.push_back({found->second, leaf, rail});
      }
    }
    std::ranges::sort(claims, [](const Claim& a, const Claim& b) {
      return std::tuple(b.ports, a.leaf, a.rail) < std::tuple(a.ports, b.leaf, b.rail);
    });
    for (const auto& claim : claims) {
      auto& rail = rail_of_leaf_[claim.leaf.index()];
      if (rail == kNone && !partner_has(claim.leaf, claim.rail)) rail = claim.rail;
    }
    // The remaining leaves have devices with other names: they get the free rails in order.
    std::ranges::sort(candidates);
    for (const auto& [top, leaf] : candidates) {
      auto& mine = rail_of_leaf_[leaf.index()];
      for (std::uint32_t rail = 0; rail < island.rails && mine == kNone; ++rail) {
        if (!partner_has(leaf, rail)) mine = rail;
      }
    }
    island.decided_by_cabling = is_one_unit(island);
  }

  // All leaves serve the same hosts, so no rail continues in another unit and any numbering is right.
  [[nodiscard]] bool is_one_unit(const Island& island) const {
    std::vector<SwitchId> reached{island.leaves.front()};
    std::set<SwitchId> seen{island.leaves.front()};
    while (!reached.empty()) {
      const SwitchId leaf = reached.back();
      reached.pop_back();
      for (const auto other : sharing_.partners(leaf)) {
        if (seen.insert(other).second) reached.push_back(other);
      }
    }
    return seen.size() == island.leaves.size();
  }

  void drop_unused_rails(Island& island) {
    std::vector<std::uint32_t> compact(island.rails, kNone);
    for (const SwitchId leaf : island.leaves) {
      if (const std::uint32_t rail = rail_of_leaf_[leaf.index()]; rail != kNone) compact[rail] = 0;
    }
    std::uint32_t used = 0;
    for (auto& rail : compact) {
      if (rail != kNone) rail = used++;
    }
    for (const SwitchId leaf : island.leaves) {
      auto& rail = rail_of_leaf_[leaf.index()];
      if (rail != kNone) rail = compact[rail];
    }
    island.rails = used;
  }

  [[nodiscard]] bool alone_on_rail(HostId host, SwitchId leaf) const {
    const std::uint32_t rail = rail_of_leaf_[leaf.index()];
    return rail != kNone && std::ranges::none_of(sharing_.leaves(host), [&](SwitchId other) {
             return other != leaf && island_of(other) == island_of(leaf) && rail_of_leaf_[other.index()] == rail;
           });
  }

  // Keeps an island's rails only if most of its ports would be on a rail of their own.
  void judge(std::uint32_t number) {
    Island& island = islands_[number];
    std::map<std::uint32_t, std::vector<std::uint32_t>> ports_of;  // ordinal -> ports on each rail
    for_each_voting_port(number, [&](HostId, SwitchId leaf, std::optional<std::uint32_t> ordinal) {
      const std::uint32_t rail = rail_of_leaf_[leaf.index()];
      if (!ordinal || rail == kNone) return;
      auto& ports = ports_of[*ordinal];
      ports.resize(island.rails);
      ++ports[rail];
    });
    std::size_t all = 0;
    std::size_t apart = 0;
    std::size_t agreeing = 0;
    for_each_voting_port(number, [&](HostId host, SwitchId leaf, std::optional<std::uint32_t> ordinal) {
      ++all;
      if (!alone_on_rail(host, leaf)) return;
      ++apart;
      if (island.decided_by_cabling) {
        ++agreeing;
      } else if (ordinal) {
        const auto& ports = ports_of[*ordinal];
        if (std::ranges::max_element(ports) - ports.begin() == rail_of_leaf_[leaf.index()]) ++agreeing;
      }
    });
    if (island.rails < 2 || 2 * apart < all) return forget(island);
    judged_ports_ += all;
    agreeing_ports_ += agreeing;
  }

  void forget(Island& island) {
    for (const SwitchId leaf : island.leaves) rail_of_leaf_[leaf.index()] = kNone;
    island.rails = 0;
  }

  [[nodiscard]] RailAssignment result() const {
    RailAssignment result;
    result.rail_of_port.assign(topology_.hca_ports().size(), RailId());
    std::uint32_t rails = 0;
    for (const Island& island : islands_) rails = std::max(rails, island.rails);
    if (rails == 0) return result;
    for (const auto port : topology_.hca_ports()) {
      if (topology_.kind(topology_.hca_of(port)) != HcaKind::host) continue;
      const SwitchId leaf = switch_at(topology_, port);
      if (!leaf || rail_of_leaf_[leaf.index()] == kNone) continue;
      result.rail_of_port[port.index() - topology_.hca_ports().front().index()] = RailId(rail_of_leaf_[leaf.index()]);
    }
    for (std::uint32_t rail = 0; rail < rails; ++rail) result.names.push_back(fmt::format("rail-{}", rail));
    result.confidence = static_cast<double>(agreeing_ports_) / static_cast<double>(judged_ports_);
    return result;
  }

  const Topology& topology_;
  LeafSharing sharing_;
  SwitchComponents components_;
  std::vector<std::uint32_t> island_of_switch_;
  std::vector<Island> islands_;
  std::vector<std::map<std::uint32_t, std::uint32_t>> votes_;  // of each leaf: ordinal -> ports
  std::vector<std::uint32_t> rail_of_leaf_;
  std::size_t judged_ports_ = 0, agreeing_ports_ = 0;  // of islands with rails
};

}  // namespace

std::optional<std::uint32_t> device_ordinal(std::string_view device) {
  std::size_t begin = device.size();
  while (begin > 0 && device[begin - 1] >= '0' && device[begin - 1] <= '9') --begin;
  static constexpr std::uint32_t kMaxOrdinal = 1023;  // a larger number is not a position in a host
  const auto number = whole_number(device.substr(begin), kMaxOrdinal);
  if (!number) return std::nullopt;
  const std::string_view stem = device.substr(0, begin);
  const bool counts_from_one = stem == "HCA-" || stem == "hca-";  // in node descriptions without a device name
  if (counts_from_one && *number == 0) return std::nullopt;
  return counts_from_one ? *number - 1 : *number;
}

RailAssignment infer_rails(const Topology& topology) {
  if (topology.hca_ports().empty()) return {};
  return RailInference(topology).run();
}

}  // namespace railweave::fabric
