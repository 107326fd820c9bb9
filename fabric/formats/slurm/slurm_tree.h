// Switches and blocks as Slurm's topology files name them, before they become the tiers of each node.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fabric/formats/site/site_facts.h"

namespace railweave::fabric {

class SlurmTree {
 public:
  static constexpr std::size_t kMaxGroups = std::size_t{1} << 18U;

  // False: there are too many, or one of that name.
  bool add(const std::string& name, const std::string& nodes, const std::string& children, std::size_t line,
           SiteFacts& facts);
  [[nodiscard]] bool empty() const { return groups_.empty(); }
  void move_into(SiteFacts& facts) &&;

 private:
  struct Group {
    std::vector<std::string> nodes, children;
  };
  std::map<std::string, Group> groups_;
  std::vector<std::string> order_;
};

}  // namespace railweave::fabric
