#include "fabric/topology/rails.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "fabric/topology/leaf_sharing.h"

namespace railweave::fabric {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

bool counts_for_rails(const Topology& topology, HostId host) {
  return topology.kind(host) == HostKind::compute || topology.kind(host) == HostKind::storage;
}

class RailInference {
 public:
  explicit RailInference(const Topology& topology)
      : topology_(topology),
        sharing_(
            topology, LeafSharing::Partners::quarter_of_the_larger,
            [&](HostId host) { return counts_for_rails(topology, host); }, [](PortId) { return true; }),
        rail_of_leaf_(topology.switches().size(), kNone) {}

  RailAssignment run() {
    collect_votes();
    rails_ = typical_leaves_per_host();
    if (rails_ < 2) return nothing();
    if (!assign_by_network()) assign_by_device();
    drop_unused_rails();
    return judge();
  }

 private:
  [[nodiscard]] bool is_candidate(SwitchId leaf) const { return !sharing_.partners(leaf).empty(); }
  [[nodiscard]] bool votes(HostId host) const { return sharing_.leaves(host).size() >= 2; }

  template <class Visit>
  void for_each_voting_port(Visit visit) const {
    for (const auto host : topology_.hosts()) {
      if (!votes(host)) continue;
      for (const auto hca : topology_.hcas(host)) {
        const auto ordinal = device_ordinal(topology_.device(hca));
        for (const auto port : topology_.ports(hca)) {
          if (const SwitchId leaf = switch_at(topology_, port)) visit(host, leaf, ordinal);
        }
      }
    }
  }

  void collect_votes() {
    votes_.resize(topology_.switches().size());
    for_each_voting_port([&](HostId, SwitchId leaf, std::optional<std::uint32_t> ordinal) {
      if (ordinal && is_candidate(leaf)) ++votes_[leaf.index()][*ordinal];
    });
  }

  [[nodiscard]] std::uint32_t typical_leaves_per_host() const {
    std::vector<std::uint32_t> counts;
    for (const auto host : topology_.hosts()) {
      if (!votes(host)) continue;
      const auto leaves = sharing_.leaves(host);
      counts.push_back(
          static_cast<std::uint32_t>(std::ranges::count_if(leaves, [&](auto leaf) { return is_candidate(leaf); })));
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
  bool assign_by_network() {
    const SwitchComponents components = switch_components(topology_);
    std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> votes_of;  // component -> ordinal -> ports
    for (const auto leaf : topology_.switches()) {
      if (!is_candidate(leaf)) continue;
      const std::uint32_t component = components.of_switch[leaf.index()];
      for (const auto partner : sharing_.partners(leaf)) {
        if (components.of_switch[partner.index()] == component) return false;
      }
      for (const auto& [ordinal, count] : votes_[leaf.index()]) votes_of[component][ordinal] += count;
      votes_of[component];
    }
    if (votes_of.size() > rails_) return false;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // (most frequent ordinal, component)
    for (const auto& [component, ordinals] : votes_of) {
      const auto most = std::ranges::max_element(ordinals, {}, [](const auto& entry) { return entry.second; });
      order.emplace_back(most == ordinals.end() ? kNone : most->first, component);
    }
    std::ranges::sort(order);
    for (const auto leaf : topology_.switches()) {
      if (!is_candidate(leaf)) continue;
      const auto at =
          std::ranges::find(order, components.of_switch[leaf.index()], [](const auto& e) { return e.second; });
      rail_of_leaf_[leaf.index()] = static_cast<std::uint32_t>(at - order.begin());
    }
    decided_by_cabling_ = true;
    return true;
  }

  [[nodiscard]] bool partner_has(SwitchId leaf, std::uint32_t rail) const {
    return std::ranges::any_of(sharing_.partners(leaf),
                               [&](auto other) { return rail_of_leaf_[other.index()] == rail; });
  }

  void assign_by_device() {
    // Rails are numbered by the ordinals that are most frequent on most leaves.
    std::map<std::uint32_t, std::uint32_t> leaves_with_top;
    std::vector<std::pair<std::uint32_t, SwitchId>> candidates;  // (top ordinal, leaf)
    for (const auto leaf : topology_.switches()) {
      if (!is_candidate(leaf)) continue;
      const std::uint32_t top = top_ordinal(leaf);
      candidates.emplace_back(top, leaf);
      if (top != kNone) ++leaves_with_top[top];
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranked(leaves_with_top.begin(), leaves_with_top.end());
    std::ranges::stable_sort(ranked, std::greater<>(), [](const auto& entry) { return entry.second; });
    if (ranked.size() > rails_) ranked.resize(rails_);
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
      for (std::uint32_t rail = 0; rail < rails_ && mine == kNone; ++rail) {
        if (!partner_has(leaf, rail)) mine = rail;
      }
    }
    decided_by_cabling_ = is_one_unit();
  }

  // All candidates serve the same hosts, so no rail continues in another unit and any numbering is right.
  [[nodiscard]] bool is_one_unit() const {
    std::vector<SwitchId> reached;
    std::set<SwitchId> seen;
    std::size_t candidates = 0;
    for (const auto leaf : topology_.switches()) {
      if (!is_candidate(leaf)) continue;
      if (candidates++ == 0) {
        reached.push_back(leaf);
        seen.insert(leaf);
      }
    }
    while (!reached.empty()) {
      const SwitchId leaf = reached.back();
      reached.pop_back();
      for (const auto other : sharing_.partners(leaf)) {
        if (seen.insert(other).second) reached.push_back(other);
      }
    }
    return seen.size() == candidates;
  }

  void drop_unused_rails() {
    std::vector<std::uint32_t> compact(rails_, kNone);
    for (const auto rail : rail_of_leaf_) {
      if (rail != kNone) compact[rail] = 0;
    }
    std::uint32_t used = 0;
    for (auto& rail : compact) {
      if (rail != kNone) rail = used++;
    }
    for (auto& rail : rail_of_leaf_) {
      if (rail != kNone) rail = compact[rail];
    }
    rails_ = used;
  }

  [[nodiscard]] bool alone_on_rail(HostId host, SwitchId leaf) const {
    const std::uint32_t rail = rail_of_leaf_[leaf.index()];
    return rail != kNone && std::ranges::none_of(sharing_.leaves(host), [&](SwitchId other) {
             return other != leaf && rail_of_leaf_[other.index()] == rail;
           });
  }

  [[nodiscard]] RailAssignment judge() const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> ports_of;  // ordinal -> ports on each rail
    for_each_voting_port([&](HostId, SwitchId leaf, std::optional<std::uint32_t> ordinal) {
      const std::uint32_t rail = rail_of_leaf_[leaf.index()];
      if (!ordinal || rail == kNone) return;
      auto& ports = ports_of[*ordinal];
      ports.resize(rails_);
      ++ports[rail];
    });
    std::size_t all = 0;
    std::size_t apart = 0;
    std::size_t agreeing = 0;
    for_each_voting_port([&](HostId host, SwitchId leaf, std::optional<std::uint32_t> ordinal) {
      ++all;
      if (!alone_on_rail(host, leaf)) return;
      ++apart;
      if (decided_by_cabling_) {
        ++agreeing;
      } else if (ordinal) {
        const auto& ports = ports_of[*ordinal];
        if (std::ranges::max_element(ports) - ports.begin() == rail_of_leaf_[leaf.index()]) ++agreeing;
      }
    });
    if (rails_ < 2 || 2 * apart < all) return nothing();
    RailAssignment result = nothing();
    for (const auto port : topology_.hca_ports()) {
      if (topology_.kind(topology_.hca_of(port)) != HcaKind::host) continue;
      const SwitchId leaf = switch_at(topology_, port);
      if (!leaf || rail_of_leaf_[leaf.index()] == kNone) continue;
      result.rail_of_port[port.index() - topology_.hca_ports().front().index()] = RailId(rail_of_leaf_[leaf.index()]);
    }
    for (std::uint32_t rail = 0; rail < rails_; ++rail) result.names.push_back(fmt::format("rail-{}", rail));
    result.confidence = static_cast<double>(agreeing) / static_cast<double>(all);
    return result;
  }

  [[nodiscard]] RailAssignment nothing() const {
    RailAssignment result;
    result.rail_of_port.assign(topology_.hca_ports().size(), RailId());
    return result;
  }

  const Topology& topology_;
  LeafSharing sharing_;
  std::vector<std::map<std::uint32_t, std::uint32_t>> votes_;  // of each leaf: ordinal -> ports
  std::vector<std::uint32_t> rail_of_leaf_;
  std::uint32_t rails_ = 0;
  bool decided_by_cabling_ = false;
};

}  // namespace

std::optional<std::uint32_t> device_ordinal(std::string_view device) {
  std::size_t begin = device.size();
  while (begin > 0 && device[begin - 1] >= '0' && device[begin - 1] <= '9') --begin;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(device.data() + begin, device.data() + device.size(), number);
  static constexpr std::uint32_t kMaxOrdinal = 1023;  // a larger number is not a position in a host
  if (error != std::errc() || begin == device.size() || number > kMaxOrdinal) return std::nullopt;
  const std::string_view stem = device.substr(0, begin);
  const bool counts_from_one = stem == "HCA-" || stem == "hca-";  // in node descriptions without a device name
  if (counts_from_one && number == 0) return std::nullopt;
  return counts_from_one ? number - 1 : number;
}

RailAssignment infer_rails(const Topology& topology) {
  if (topology.hca_ports().empty()) return {};
  return RailInference(topology).run();
}

}  // namespace railweave::fabric
