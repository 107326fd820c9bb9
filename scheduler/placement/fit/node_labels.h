// What a node selector selects, and which taints keep a job off a node.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>

#include <fmt/core.h>

#include "fabric/topology/topology.h"
#include "scheduler/job/toleration.h"

namespace railweave::scheduler {

// Whether the node carries all of the labels; an empty selector: every node does.
inline bool carries_labels(const fabric::Topology& topology, fabric::HostId host,
                           const std::map<std::string, std::string>& selector) {
  return std::ranges::all_of(selector, [&](const auto& wanted) {
    return std::ranges::any_of(topology.labels(host), [&](const auto& label) {
      return topology.text(label.key) == wanted.first && topology.text(label.value) == wanted.second;
    });
  });
}

// The first taint of the node that none of them tolerates: "dedicated=research"; empty: there is none.
inline std::string repelling_taint(const fabric::Topology& topology, fabric::HostId host,
                                   std::span<const Toleration> tolerations) {
  for (const auto& label : topology.labels(host)) {
    const auto key = topology.text(label.key), value = topology.text(label.value);
    if (repels(key, value, tolerations)) return fmt::format("{}={}", key.substr(kTaintPrefix.size()), value);
  }
  return {};
}

}  // namespace railweave::scheduler
