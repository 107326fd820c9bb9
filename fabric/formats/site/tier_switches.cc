#include "fabric/formats/site/tier_switches.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "fabric/base/plural.h"

namespace railweave::fabric {
namespace {

constexpr std::string_view kTierSubnet = "tiers";
constexpr std::string_view kRootName = "all-groups", kNoGroup = "no-group";
constexpr std::uint64_t kMaxGbps = 4'000'000;

// A group is its path from the outermost tier, as names need not be one group's alone.
using GroupPath = std::vector<std::string>;

struct Group {
  std::vector<HostDraft> hosts;
  std::set<GroupPath> groups;
  std::uint64_t gbps = 0;  // of all that is in it
  SwitchDraft draft;
  unsigned next_port = 1;
  // The last one: to the group that it is in.
  [[nodiscard]] unsigned uplink() const { return static_cast<unsigned>(hosts.size() + groups.size()) + 1; }
};

// At most what a link can have.
LinkSpec assumed_link(std::uint64_t gbps) {
  return ethernet_link(from_gbps(static_cast<std::int64_t>(std::min(gbps, kMaxGbps))));
}

std::string path_name(const GroupPath& path, const std::map<std::string, unsigned>& uses) {
  if (path.empty()) return std::string(kRootName);
  const std::string& own = path.back();
  if (uses.at(own) < 2) return own;
  return fmt::format("{}", fmt::join(path, "/"));
}

class TierSwitches {
 public:
  explicit TierSwitches(TopologyBuilder& builder) : builder_(builder) {}

  void add(const HostFacts& facts, HostDraft host) {
    const std::uint64_t gbps = std::uint64_t{kAssumedGbpsPerGpu} * std::max(1U, facts.gpus.value_or(1));
    GroupPath path(facts.tiers.rbegin(), facts.tiers.rend());
    if (path.empty() && !facts.zone.empty()) path.push_back(facts.zone);
    if (path.empty()) {
      path.emplace_back(kNoGroup);
      without_.push_back(facts.name);
    }
    host_gbps_.emplace_back(host, gbps);
    groups_[path].hosts.push_back(host);
    while (!path.empty()) {
      Group& group = groups_[path];
      group.gbps += gbps;
      GroupPath child = std::move(path);
      path = GroupPath(child.begin(), child.end() - 1);
      if (path.empty()) break;
      groups_[path].groups.insert(std::move(child));
    }
  }

  void build() {
    std::map<std::string, unsigned> uses{{std::string(kRootName), 1}};
    for (const auto& [path, group] : groups_) ++uses[path.back()];
    join_outermost();
    const SubnetId subnet = builder_.subnet(kTierSubnet);
    std::vector<std::string> names;
    for (auto& [path, group] : groups_) {
      const std::string name = path_name(path, uses);
      group.draft = builder_.add_switch({.name = name, .description = name, .ports = group.uplink(), .subnet = subnet});
      if (names.size() < kMaxFindingObjects) names.push_back(name);
    }
    for (const auto& [host, gbps] : host_gbps_) adapters_.emplace(host.value(), adapter(host, gbps));
    for (auto& [path, group] : groups_) join(group);
    report(std::move(names));
  }

 private:
  // Hosts of one cluster reach each other, though no source tells by what.
  void join_outermost() {
    std::set<GroupPath> outermost;
    for (const auto& [path, group] : groups_) {
      if (path.size() == 1) outermost.insert(path);
    }
    if (outermost.size() < 2) return;
    builder_.add_finding({"groupsTakenAsJoined",
                          Severity::info,
                          "no source tells what joins the " +
                              plural(outermost.size(), "outermost group", "outermost groups") +
                              ": that their hosts reach each other is assumed",
                          {}});
    groups_[GroupPath()].groups = std::move(outermost);
  }

  std::pair<HcaDraft, std::uint64_t> adapter(HostDraft host, std::uint64_t gbps) {
    const std::string description = std::string(builder_.name(host)) + " net0";
    const HcaDraft hca = builder_.add_hca({.host = host, .device = "net0", .description = description, .ports = 1});
    for (std::size_t g = 0; g < builder_.gpu_count(host); ++g) builder_.add_nic(builder_.gpu(host, g), hca);
    return {hca, gbps};
  }

  void join(Group& group) {
    for (const HostDraft host : group.hosts) {
      const auto& [hca, gbps] = adapters_.at(host.value());
      builder_.connect({group.draft, group.next_port++}, {hca, 1}, assumed_link(gbps));
    }
    for (const GroupPath& path : group.groups) {
      Group& inner = groups_.at(path);
      builder_.connect({group.draft, group.next_port++}, {inner.draft, inner.uplink()}, assumed_link(inner.gbps));
    }
  }

  void report(std::vector<std::string> names) {
    builder_.add_finding(
        {"tiersWithoutCables", Severity::info,
         "no source tells of cables: " + plural(groups_.size(), "group of hosts stands", "groups of hosts stand") +
             " for switches, one each. Who is near whom is known, what is between them is not",
         std::move(names)});
    if (!without_.empty()) {
      const std::size_t count = without_.size();
      without_.resize(std::min(count, kMaxFindingObjects));
      builder_.add_finding({"hostsWithoutGroup", Severity::warning,
                            "no source tells the group of " + plural(count, "host", "hosts") +
                                ": who is near whom among them is not known, and they are taken for one group",
                            std::move(without_)});
    }
    builder_.add_finding({"speedAssumed",
                          Severity::warning,
                          fmt::format("no source tells of rates: {} Gb/s for each GPU are assumed, and no "
                                      "oversubscription. Predicted times and bandwidths are as good as that",
                                      kAssumedGbpsPerGpu),
                          {}});
  }

  TopologyBuilder& builder_;
  std::map<GroupPath, Group> groups_;
  std::vector<std::string> without_;  // hosts of which no group is known
  std::vector<std::pair<HostDraft, std::uint64_t>> host_gbps_;
  std::map<std::uint32_t, std::pair<HcaDraft, std::uint64_t>> adapters_;
};

}  // namespace

void add_tier_switches(const std::vector<HostFacts>& hosts, TopologyBuilder& builder) {
  TierSwitches tiers(builder);
  if (hosts.size() < 2) return;  // one machine's report tells of no network
  for (const HostFacts& facts : hosts) tiers.add(facts, builder.host(facts.name));
  tiers.build();
}

}  // namespace railweave::fabric
