#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fabric/topology/checks/check_parts.h"
#include "fabric/topology/disjoint_sets.h"

namespace railweave::fabric {
namespace {

// The switches above one switch, each once, with the links to it.
using Above = std::vector<std::pair<SwitchId, std::uint32_t>>;

constexpr std::size_t kMaxAbove = 128;  // a switch with more above is not compared

class UplinkComparison {
 public:
  explicit UplinkComparison(const Topology& topology)
      : topology_(topology),
        above_(topology.switches().size()),
        below_(topology.switches().size()),
        lacking_down_(topology.switches().size()),
        peers_(topology.switches().size()) {
    collect();
    group_spines();
    compare();
  }

  // Switches that lack links up, and those that lack links down, with the number of links.
  [[nodiscard]] const std::vector<std::pair<SwitchId, std::uint32_t>>& lower() const { return lower_; }
  [[nodiscard]] const std::vector<std::pair<SwitchId, std::uint32_t>>& upper() const { return upper_; }

 private:
  void collect() {
    for (const auto sw : topology_.switches()) {
      std::vector<SwitchId> ends;
      for (const auto port : topology_.ports(sw)) {
        const PortId peer = topology_.peer(port);
        const SwitchId other = peer ? topology_.switch_of(peer) : SwitchId();
        if (other && topology_.tier(sw) != Topology::kNoTier && topology_.tier(other) == topology_.tier(sw) + 1) {
          ends.push_back(other);
        }
      }
      std::ranges::sort(ends);
      Above& above = above_[sw.index()];
      for (const auto end : ends) {
        if (above.empty() || above.back().first != end) above.emplace_back(end, 0);
        ++above.back().second;
      }
      if (above.size() > kMaxAbove) above.clear();
      for (const auto& [spine, links] : above) below_[spine.index()].push_back(sw);
    }
  }

  // Spines are peers when they share more than half of the switches below the one with more.
  void group_spines() {
    std::vector<std::uint32_t> shared(topology_.switches().size(), 0);
    std::vector<SwitchId> met;
    for (const auto spine : topology_.switches()) {
      for (const auto lower : below_[spine.index()]) {
        for (const auto& [other, links] : above_[lower.index()]) {
          if (shared[other.index()]++ == 0) met.push_back(other);
        }
      }
      for (const auto other : met) {
        const std::size_t larger = std::max(below_[spine.index()].size(), below_[other.index()].size());
        if (2 * std::size_t{shared[other.index()]} > larger) peers_.unite(spine.index(), other.index());
        shared[other.index()] = 0;
      }
      met.clear();
    }
  }

  // The most frequent of some counts, the larger of equals.
  static std::uint32_t usual(const std::map<std::uint32_t, std::size_t>& counts) {
    std::uint32_t value = 0;
    std::size_t most = 0;
    for (const auto& [count, times] : counts) {
      if (times >= most) std::tie(value, most) = std::pair(count, times);
    }
    return value;
  }

  void compare() {
    std::map<std::uint32_t, std::vector<SwitchId>> spines_of;  // group -> spines
    for (const auto sw : topology_.switches()) {
      if (!below_[sw.index()].empty()) spines_of[peers_.find(sw.index())].push_back(sw);
    }
    for (const auto& [group, spines] : spines_of) compare_group(group, spines);
    for (const auto sw : topology_.switches()) {
      if (lacking_up_.contains(sw)) lower_.emplace_back(sw, lacking_up_[sw]);
      if (lacking_down_[sw.index()] > 0) upper_.emplace_back(sw, lacking_down_[sw.index()]);
    }
  }

  void compare_group(std::uint32_t group, const std::vector<SwitchId>& spines) {
    std::vector<SwitchId> lower;
    for (const auto spine : spines)
      lower.insert(lower.end(), below_[spine.index()].begin(), below_[spine.index()].end());
    std::ranges::sort(lower);
    lower.erase(std::unique(lower.begin(), lower.end()), lower.end());
    std::map<std::uint32_t, std::size_t> totals;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> links_of;  // of each lower switch: in all, usual per spine
    for (const auto sw : lower) {
      std::map<std::uint32_t, std::size_t> per_spine;
      std::uint32_t total = 0;
      std::size_t here = 0;
      for (const auto& [spine, links] : above_[sw.index()]) {
        if (peers_.find(spine.index()) != group) continue;
        ++per_spine[links];
        total += links;
        ++here;
      }
      per_spine[0] += spines.size() - here;
      ++totals[total];
      links_of.emplace_back(total, usual(per_spine));
    }
    const std::uint32_t usual_total = usual(totals);
    for (std::size_t i = 0; i < lower.size(); ++i) {
      const auto [total, per_spine] = links_of[i];
      const auto by_spine = per_spine * static_cast<std::uint32_t>(spines.size());
      std::uint32_t lacking = totals.at(usual_total) > 1 && usual_total > total ? usual_total - total : 0;
      if (by_spine > total) lacking = std::max(lacking, by_spine - total);
      if (lacking > 0) lacking_up_[lower[i]] += lacking;
      if (per_spine == 0) continue;
      const Above& above = above_[lower[i].index()];
      for (const auto spine : spines) {
        const auto found = std::ranges::lower_bound(above, spine, {}, [](const auto& entry) { return entry.first; });
        const std::uint32_t links = found != above.end() && found->first == spine ? found->second : 0;
        if (links < per_spine) lacking_down_[spine.index()] += per_spine - links;
      }
    }
  }

  const Topology& topology_;
  std::vector<Above> above_;
  std::vector<std::vector<SwitchId>> below_;
  std::vector<std::uint32_t> lacking_down_;
  DisjointSets peers_;
  std::map<SwitchId, std::uint32_t> lacking_up_;
  std::vector<std::pair<SwitchId, std::uint32_t>> lower_, upper_;
};

}  // namespace

void check_uplinks(const Topology& topology, FindingList& findings) {
  const UplinkComparison comparison(topology);
  const auto report = [&](const auto& lacking, const char* code, const std::string& direction) {
    std::vector<std::string> names;
    std::vector<std::string> described;
    for (const auto& [sw, links] : lacking) {
      names.emplace_back(topology.name(sw));
      described.push_back(std::string(topology.name(sw)) + " by " + std::to_string(links));
    }
    findings.add(code, Severity::warning,
                 counted(names.size(), "switch") + " with fewer links " + direction +
                     (names.size() == 1 ? " than its peers: " : " than their peers: ") + first_few(described),
                 names);
  };
  report(comparison.lower(), "leafShortOfUplinks", "up");
  report(comparison.upper(), "spineShortOfLinks", "down");
}

}  // namespace railweave::fabric
