// The checks, by the part of the fabric that they check. Internal to fabric/topology; checks.h lists the codes.
#pragma once

#include <string>
#include <vector>

#include "fabric/topology/finding.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

class FindingList {
 public:
  static constexpr std::size_t kMaxObjects = 1000;

  // Adds nothing if there are no objects. Objects are sorted naturally and cut to kMaxObjects, so the message should
  // give their number.
  void add(std::string code, Severity severity, std::string message, std::vector<std::string> objects);
  // A finding about the fabric as a whole.
  void note(std::string code, std::string message, std::vector<std::string> objects = {});
  std::vector<Finding>& all() { return findings_; }

 private:
  std::vector<Finding> findings_;
};

// "1 host", "10 hosts".
std::string counted(std::size_t count, std::string_view noun);
// "a, b, c and 7 more": the first few of a list, for messages.
std::string first_few(const std::vector<std::string>& items);

void check_hosts(const Topology& topology, FindingList& findings);    // rails, hosts on spines, cables
void check_uplinks(const Topology& topology, FindingList& findings);  // leaves and spines against their peers
void check_links(const Topology& topology, FindingList& findings);    // speeds, tiers, subnets
void check_subnets(const Topology& topology, FindingList& findings);  // parts, isolated switches, LIDs

}  // namespace railweave::fabric
