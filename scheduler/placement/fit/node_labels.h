// What a node selector selects.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "fabric/topology/topology.h"

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

}  // namespace railweave::scheduler
