#include "scheduler/placement/score/node_preferences.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include <fmt/core.h>

#include "scheduler/placement/fit/node_labels.h"

namespace railweave::scheduler {
namespace {

// "tier=gold, zone=a" or "of 3 named".
std::string text_of(const NodePreference& preference) {
  std::string text;
  for (const auto& [key, value] : preference.node_selector) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
  }
  if (preference.nodes.empty()) return text;
  return fmt::format("{}{} named", text.empty() ? "of " : text + " of ", preference.nodes.size());
}

}  // namespace

LeafFilter carrying_labels(const PlacementFabric& fabric, const std::map<std::string, std::string>& selector) {
  const Hierarchy& hierarchy = fabric.hierarchy();
  LeafFilter filter(hierarchy.leaf_count(), std::uint8_t{1});
  if (selector.empty()) return filter;
  for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
    filter[leaf] = carries_labels(fabric.topology(), hierarchy.host(leaf), selector) ? 1 : 0;
  }
  return filter;
}

NodePreferences::NodePreferences(const PlacementFabric& fabric, const JobSpec& spec) : fabric_(&fabric) {
  if (spec.prefer_nodes.empty()) return;
  const auto& topology = fabric.topology();
  const Hierarchy& hierarchy = fabric.hierarchy();
  unmet_.assign(hierarchy.leaf_count(), 0);
  for (const NodePreference& preference : spec.prefer_nodes) {
    LeafFilter met = carrying_labels(fabric, preference.node_selector);
    if (!preference.nodes.empty()) {
      std::vector<std::uint8_t> named(topology.hosts().size(), 0);
      for (const auto& name : preference.nodes) {
        if (const fabric::HostId host = topology.find_host(name)) named[host.index()] = 1;
      }
      for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) met[leaf] &= named[hierarchy.host(leaf).index()];
    }
    for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
      if (preference.avoid) met[leaf] ^= 1U;
      if (met[leaf] == 0) unmet_[leaf] += preference.weight / 100.0;
    }
  }
}

double NodePreferences::unmet(std::span<const fabric::GpuId> gpu_of_rank) const {
  if (!any() || gpu_of_rank.empty()) return 0;
  double sum = 0;
  for (const auto gpu : gpu_of_rank) sum += unmet_[fabric_->leaf(gpu)];
  return sum / static_cast<double>(gpu_of_rank.size());
}

std::vector<std::shared_ptr<const LeafFilter>> NodePreferences::tiers() const {
  const std::set<double> steps(unmet_.begin(), unmet_.end());
  std::vector<std::shared_ptr<const LeafFilter>> tiers;
  if (steps.empty()) return tiers;
  for (const double most : steps) {
    if (most == *steps.rbegin() || tiers.size() == kMaxTiers) break;
    auto tier = std::make_shared<LeafFilter>(unmet_.size(), std::uint8_t{0});
    for (std::size_t leaf = 0; leaf < unmet_.size(); ++leaf) (*tier)[leaf] = unmet_[leaf] <= most ? 1 : 0;
    tiers.push_back(std::move(tier));
  }
  return tiers;
}

std::vector<std::string> unmet_preferences(const fabric::Topology& topology, const JobSpec& spec,
                                           std::span<const fabric::GpuId> gpu_of_rank) {
  std::vector<std::string> texts;
  if (spec.prefer_nodes.empty()) return texts;
  std::map<fabric::HostId, std::size_t> ranks;
  for (const auto gpu : gpu_of_rank) ++ranks[topology.host(gpu)];
  for (const NodePreference& preference : spec.prefer_nodes) {
    const std::set<std::string_view> named(preference.nodes.begin(), preference.nodes.end());
    std::size_t outside = 0;
    for (const auto& [host, count] : ranks) {
      const bool is_meant = (named.empty() || named.contains(topology.name(host))) &&
                            carries_labels(topology, host, preference.node_selector);
      if (is_meant == preference.avoid) outside += count;
    }
    if (outside == 0) continue;
    const bool by_name = preference.node_selector.empty();
    const char* how = preference.avoid ? (by_name ? "to be avoided, " : "to be avoided, with ")
                                       : (by_name ? "that are not " : "without ");
    texts.push_back(fmt::format("{} of {} ranks are on nodes {}{} (weight {})", outside, gpu_of_rank.size(), how,
                                text_of(preference), preference.weight));
  }
  return texts;
}

}  // namespace railweave::scheduler
