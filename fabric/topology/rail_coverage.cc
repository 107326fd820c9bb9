#include "fabric/topology/rail_coverage.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "fabric/topology/disjoint_sets.h"
#include "fabric/topology/leaf_sharing.h"
#include "fabric/topology/rail_islands.h"
#include "fabric/topology/rails.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kMaxRailsPerHost = 64;  // a host on more is ignored

// "a05-p1-dgx-01" -> "a#-p#-dgx-#".
std::string family_of(std::string_view name) {
  std::string family;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) family += c;
    if (digit && (family.empty() || family.back() != '#')) family += '#';
  }
  return family;
}

// Rails of one number in two islands are two: of each island all rails, numbered on.
class IslandRails {
 public:
  explicit IslandRails(const Topology& topology)
      : topology_(topology), rails_(topology.rails().size()), island_of_switch_(rail_islands(topology)) {
    for (const std::uint32_t island : island_of_switch_) islands_ = std::max<std::size_t>(islands_, island + 1U);
  }
  [[nodiscard]] std::size_t count() const { return islands_ * rails_; }
  [[nodiscard]] RailId rail(std::size_t number) const { return RailId(number % rails_); }
  // None: the port is on no rail, or its cable leads to no switch.
  [[nodiscard]] std::optional<std::uint32_t> island(PortId port) const {
    const SwitchId leaf = topology_.rail(port) ? switch_at(topology_, port) : SwitchId();
    return leaf ? std::optional(island_of_switch_[leaf.index()]) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::uint32_t> number(PortId port) const {
    const auto at = island(port);
    return at ? std::optional(static_cast<std::uint32_t>(*at * rails_ + topology_.rail(port).index())) : std::nullopt;
  }

 private:
  const Topology& topology_;
  std::size_t rails_, islands_ = 0;
  std::vector<std::uint32_t> island_of_switch_;
};

// The rails of every compute host by their numbers in IslandRails, each once, in order; none for other hosts.
class HostRails {
 public:
  HostRails(const Topology& topology, const IslandRails& islands) : first_{0} {
    for (const auto host : topology.hosts()) {
      const std::size_t first = rails_.size();
      if (topology.kind(host) == HostKind::compute) {
        for (const auto hca : topology.hcas(host)) {
          for (const auto port : topology.ports(hca)) {
            if (const auto number = islands.number(port)) rails_.push_back(*number);
          }
        }
        const auto begin = rails_.begin() + static_cast<std::ptrdiff_t>(first);
        std::sort(begin, rails_.end());
        rails_.erase(std::unique(begin, rails_.end()), rails_.end());
        if (rails_.size() - first > kMaxRailsPerHost) rails_.resize(first);
      }
      first_.push_back(rails_.size());
    }
  }
  [[nodiscard]] std::span<const std::uint32_t> of(HostId host) const {
    return std::span(rails_).subspan(first_[host.index()], first_[host.index() + 1] - first_[host.index()]);
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> rails_;
};

// Groups of rails; members in order of number.
struct RailGroups {
  std::vector<std::uint32_t> of_rail;
  std::vector<std::vector<std::uint32_t>> members;
};

RailGroups group_rails(const Topology& topology, const HostRails& rails, std::size_t count) {
  std::vector<std::uint32_t> hosts_on(count);
  std::unordered_map<std::uint64_t, std::uint32_t> hosts_on_both;
  for (const auto host : topology.hosts()) {
    const auto mine = rails.of(host);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      ++hosts_on[mine[i]];
      for (std::size_t j = 0; j < i; ++j) ++hosts_on_both[std::uint64_t{mine[j]} << 32U | mine[i]];
    }
  }
  DisjointSets sets(count);
  for (const auto& [pair, both] : hosts_on_both) {
    const std::size_t a = pair >> 32U;
    const std::size_t b = pair & UINT32_MAX;
    if (2 * both > std::min(hosts_on[a], hosts_on[b])) sets.unite(a, b);
  }
  RailGroups groups;
  groups.members.resize(count);
  for (std::uint32_t rail = 0; rail < count; ++rail) {
    groups.of_rail.push_back(sets.find(rail));
    if (hosts_on[rail] > 0) groups.members[groups.of_rail.back()].push_back(rail);
  }
  return groups;
}

// The group that contains most of a host's rails, the first of equals; none: the host is on no rail.
std::optional<std::uint32_t> group_of(std::span<const std::uint32_t> rails, const RailGroups& groups) {
  std::optional<std::uint32_t> best;
  std::ptrdiff_t most = 0;
  for (const std::uint32_t rail : rails) {
    const std::uint32_t group = groups.of_rail[rail];
    const auto count =
        std::ranges::count_if(rails, [&](std::uint32_t other) { return groups.of_rail[other] == group; });
    if (count > most) {
      most = count;
      best = group;
    }
  }
  return best;
}

std::vector<RailId> rails_of(std::span<const std::uint32_t> numbers, const IslandRails& islands) {
  std::vector<RailId> rails;
  for (const std::uint32_t number : numbers) rails.push_back(islands.rail(number));
  std::ranges::sort(rails);
  rails.erase(std::ranges::unique(rails).begin(), rails.end());
  return rails;
}

}  // namespace

std::vector<RailShortfall> hosts_short_of_rail(const Topology& topology) {
  if (topology.rails().size() < 2) return {};
  const IslandRails islands(topology);
  const HostRails rails(topology, islands);
  const RailGroups groups = group_rails(topology, rails, islands.count());
  struct Family {
    std::size_t hosts = 0;
    std::size_t complete = 0;
  };
  std::unordered_map<std::string, Family> families;
  std::vector<RailShortfall> incomplete;
  std::vector<std::string> family_of_incomplete;
  for (const auto host : topology.hosts()) {
    const auto group = group_of(rails.of(host), groups);
    if (!group) continue;
    std::string family_name = family_of(topology.name(host));
    Family& family = families[family_name];
    ++family.hosts;
    RailShortfall shortfall{host, {}};
    std::ranges::set_difference(rails_of(groups.members[*group], islands), rails_of(rails.of(host), islands),
                                std::back_inserter(shortfall.missing));
    if (shortfall.missing.empty()) {
      ++family.complete;
    } else {
      incomplete.push_back(std::move(shortfall));
      family_of_incomplete.push_back(std::move(family_name));
    }
  }
  std::vector<RailShortfall> result;
  for (std::size_t i = 0; i < incomplete.size(); ++i) {
    const Family& family = families[family_of_incomplete[i]];
    const auto& missing = incomplete[i].missing;
    const auto& group = groups.members[*group_of(rails.of(incomplete[i].host), groups)];
    const std::size_t all = rails_of(group, islands).size();
    if (2 * missing.size() < all || 2 * family.complete > family.hosts) result.push_back(std::move(incomplete[i]));
  }
  return result;
}

std::vector<OddPort> ports_on_odd_rail(const Topology& topology) {
  if (!topology.rails_inferred()) return {};
  const IslandRails islands(topology);
  // Island, family, device ordinal, port number.
  using DeviceClass = std::tuple<std::uint32_t, std::string, std::uint32_t, unsigned>;
  std::map<DeviceClass, std::map<RailId, std::vector<PortId>>> ports;
  for (const auto host : topology.hosts()) {
    if (topology.kind(host) != HostKind::compute) continue;
    std::string family = family_of(topology.name(host));
    for (const auto hca : topology.hcas(host)) {
      const auto ordinal = device_ordinal(topology.device(hca));
      if (!ordinal) continue;
      for (const auto port : topology.ports(hca)) {
        const auto island = islands.island(port);
        if (!island) continue;
        ports[{*island, family, *ordinal, topology.number(port)}][topology.rail(port)].push_back(port);
      }
    }
  }
  std::vector<OddPort> odd;
  for (const auto& [device_class, on_rail] : ports) {
    std::size_t all = 0;
    std::size_t most = 0;
    RailId usual;
    for (const auto& [rail, those] : on_rail) {
      all += those.size();
      if (those.size() > most) usual = rail;
      most = std::max(most, those.size());
    }
    if (4 * most < 3 * all) continue;
    for (const auto& [rail, those] : on_rail) {
      if (rail == usual || those.size() == most) continue;
      for (const PortId port : those) odd.push_back({port, usual});
    }
  }
  std::ranges::sort(odd, {}, &OddPort::port);
  return odd;
}

std::vector<CrossedPorts> crossed_ports(const Topology& topology, const std::vector<OddPort>& odd) {
  std::vector<CrossedPorts> crossed;
  std::vector<bool> is_paired(odd.size());
  for (std::size_t i = 0; i < odd.size(); ++i) {
    const HostId host = topology.host(topology.hca_of(odd[i].port));
    // Ports of a host follow each other.
    for (std::size_t j = i + 1; j < odd.size() && topology.host(topology.hca_of(odd[j].port)) == host; ++j) {
      const bool is_other = topology.rail(odd[i].port) == odd[j].usual && topology.rail(odd[j].port) == odd[i].usual;
      if (!is_other || is_paired[i] || is_paired[j]) continue;
      is_paired[i] = is_paired[j] = true;
      crossed.push_back({odd[i], odd[j]});
    }
  }
  return crossed;
}

}  // namespace railweave::fabric
