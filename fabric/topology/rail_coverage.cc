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

// The rails of every compute host, each once, in order; none for other hosts.
class HostRails {
 public:
  explicit HostRails(const Topology& topology) : first_{0} {
    for (const auto host : topology.hosts()) {
      const std::size_t first = rails_.size();
      if (topology.kind(host) == HostKind::compute) {
        for (const auto hca : topology.hcas(host)) {
          for (const auto port : topology.ports(hca)) {
            if (topology.rail(port) && topology.link(port)) rails_.push_back(topology.rail(port));
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
  [[nodiscard]] std::span<const RailId> of(HostId host) const {
    return std::span(rails_).subspan(first_[host.index()], first_[host.index() + 1] - first_[host.index()]);
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<RailId> rails_;
};

// Groups of rails; members in order of id.
struct RailGroups {
  std::vector<std::uint32_t> of_rail;
  std::vector<std::vector<RailId>> members;
};

RailGroups group_rails(const Topology& topology, const HostRails& rails) {
  std::vector<std::uint32_t> hosts_on(topology.rails().size());
  std::unordered_map<std::uint64_t, std::uint32_t> hosts_on_both;
  for (const auto host : topology.hosts()) {
    const auto mine = rails.of(host);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      ++hosts_on[mine[i].index()];
      for (std::size_t j = 0; j < i; ++j) ++hosts_on_both[std::uint64_t{mine[j].value()} << 32U | mine[i].value()];
    }
  }
  DisjointSets sets(topology.rails().size());
  for (const auto& [pair, both] : hosts_on_both) {
    const std::size_t a = pair >> 32U;
    const std::size_t b = pair & UINT32_MAX;
    if (2 * both > std::min(hosts_on[a], hosts_on[b])) sets.unite(a, b);
  }
  RailGroups groups;
  groups.members.resize(topology.rails().size());
  for (const auto rail : topology.rails()) {
    groups.of_rail.push_back(sets.find(rail.index()));
    if (hosts_on[rail.index()] > 0) groups.members[groups.of_rail.back()].push_back(rail);
  }
  return groups;
}

// The group that contains most of a host's rails, the first of equals; none: the host is on no rail.
std::optional<std::uint32_t> group_of(std::span<const RailId> rails, const RailGroups& groups) {
  std::optional<std::uint32_t> best;
  std::ptrdiff_t most = 0;
  for (const auto rail : rails) {
    const std::uint32_t group = groups.of_rail[rail.index()];
    const auto count =
        std::ranges::count_if(rails, [&](RailId other) { return groups.of_rail[other.index()] == group; });
    if (count > most) {
      most = count;
      best = group;
    }
  }
  return best;
}

}  // namespace

std::vector<RailShortfall> hosts_short_of_rail(const Topology& topology) {
  if (topology.rails().size() < 2) return {};
  const HostRails rails(topology);
  const RailGroups groups = group_rails(topology, rails);
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
    std::ranges::set_difference(groups.members[*group], rails.of(host), std::back_inserter(shortfall.missing));
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
    const std::size_t all = groups.members[*group_of(rails.of(incomplete[i].host), groups)].size();
    if (2 * missing.size() < all || 2 * family.complete > family.hosts) result.push_back(std::move(incomplete[i]));
  }
  return result;
}

std::vector<OddPort> ports_on_odd_rail(const Topology& topology) {
  if (!topology.rails_inferred()) return {};
  using DeviceClass = std::tuple<std::string, std::uint32_t, unsigned>;  // family, device ordinal, port number
  std::map<DeviceClass, std::map<RailId, std::vector<PortId>>> ports;
  for (const auto host : topology.hosts()) {
    if (topology.kind(host) != HostKind::compute) continue;
    std::string family = family_of(topology.name(host));
    for (const auto hca : topology.hcas(host)) {
      const auto ordinal = device_ordinal(topology.device(hca));
      if (!ordinal) continue;
      for (const auto port : topology.ports(hca)) {
        if (topology.rail(port)) ports[{family, *ordinal, topology.number(port)}][topology.rail(port)].push_back(port);
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
