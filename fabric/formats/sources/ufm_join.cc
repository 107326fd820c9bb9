#include "fabric/formats/sources/ufm_join.h"

#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "fabric/formats/text/name_text.h"

namespace railweave::fabric {
namespace {

std::string_view before_dot(std::string_view name) { return name.substr(0, name.find('.')); }

// A count with the first names of what was counted.
struct Named {
  std::size_t count = 0;
  std::vector<std::string> names;

  void add(std::string name) {
    if (++count <= kMaxFindingObjects) names.push_back(std::move(name));
  }
  [[nodiscard]] std::string example() const { return names.front() + (count > 1 ? ", and others" : ""); }
};

class PartitionJoin {
 public:
  PartitionJoin(const UfmPartition& partition, const Topology& topology) : partition_(partition), topology_(topology) {}

  void join(std::vector<HostLabel>& labels, Named& partly, std::set<Guid>& unknown) {
    std::map<HcaId, bool> members;  // whether all of the adapter's ports are full members
    for (const UfmPartition::Member& member : partition_.members) {
      const HcaId hca = topology_.find_hca(member.guid);
      if (!hca) {
        if (!topology_.find_switch(member.guid)) unknown.insert(member.guid);
        continue;
      }
      const auto [at, is_new] = members.try_emplace(hca, member.full);
      if (!is_new) at->second = at->second && member.full;
    }
    std::map<HostId, bool> hosts;
    for (const auto& [hca, full] : members) {
      const HostId host = topology_.host(hca);
      if (!host) continue;
      const auto [at, is_new] = hosts.try_emplace(host, full);
      if (!is_new) at->second = at->second && full;
    }
    for (const auto& [host, full] : hosts) {
      labels.push_back({host, fmt::format("{}{:#06x}", kPartitionLabel, partition_.pkey), full ? "full" : "limited"});
      add_partly(host, members, partly);
    }
  }

 private:
  [[nodiscard]] SubnetId subnet_of(HcaId hca) const {
    for (const PortId port : topology_.ports(hca)) {
      if (const SubnetId subnet = topology_.subnet(port)) return subnet;
    }
    return {};
  }

  void add_partly(HostId host, const std::map<HcaId, bool>& members, Named& partly) const {
    std::set<SubnetId> in;
    for (const HcaId hca : topology_.hcas(host)) {
      if (members.contains(hca)) in.insert(subnet_of(hca));
    }
    std::string out;
    for (const HcaId hca : topology_.hcas(host)) {
      const SubnetId subnet = subnet_of(hca);
      if (!subnet || members.contains(hca) || !in.contains(subnet)) continue;
      out += (out.empty() ? "" : ", ") + std::string(topology_.device(hca));
    }
    if (!out.empty()) {
      partly.add(fmt::format("{}, partition {:#06x}: without {}", topology_.name(host), partition_.pkey, out));
    }
  }

  const UfmPartition& partition_;
  const Topology& topology_;
};

}  // namespace

std::vector<Finding> compare_with_systems(const std::vector<UfmSystem>& systems, const std::string& source,
                                          const Topology& topology) {
  Named not_cabled, differ;
  for (const UfmSystem& system : systems) {
    const std::string name = escaped_name(system.name);
    if (system.type == "switch") {
      const bool known = (system.guid.known() && topology.find_switch(system.guid)) || topology.find_switch(name);
      if (!known) not_cabled.add(name);
      continue;
    }
    if (system.type != "host") continue;
    std::set<HostId> hosts;
    const auto add = [&](Guid guid) {
      const HcaId hca = guid.known() ? topology.find_hca(guid) : HcaId();
      if (hca && topology.host(hca)) hosts.insert(topology.host(hca));
    };
    add(system.guid);
    for (const Guid port : system.ports) add(port);
    if (hosts.empty() && !topology.find_host(name) && !topology.find_host(before_dot(name))) not_cabled.add(name);
    for (const HostId host : hosts) {
      if (before_dot(topology.name(host)) == before_dot(name)) continue;
      differ.add(fmt::format("{} of UFM, {} by the cables", name, topology.name(host)));
    }
  }
  std::vector<Finding> findings;
  if (not_cabled.count > 0) {
    findings.push_back({"systemNotCabled", Severity::warning,
                        fmt::format("{} known to {} and to no cable, and left out: {}",
                                    plural(not_cabled.count, "system is", "systems are"), source, not_cabled.example()),
                        std::move(not_cabled.names)});
  }
  if (differ.count > 0) {
    findings.push_back({"sourcesDisagree", Severity::warning,
                        fmt::format("{} and the cables contradict each other in whose the ports of {} are ({}); the "
                                    "cables count",
                                    source, plural(differ.count, "host", "hosts"), differ.example()),
                        std::move(differ.names)});
  }
  return findings;
}

JoinedPartitions join_partitions(const std::vector<UfmPartition>& partitions, const std::string& source,
                                 const Topology& topology) {
  JoinedPartitions joined;
  Named partly, unknown_names;
  std::set<Guid> unknown;
  std::vector<std::string> read;
  for (const UfmPartition& partition : partitions) {
    const std::size_t before = joined.labels.size();
    PartitionJoin(partition, topology).join(joined.labels, partly, unknown);
    read.push_back(fmt::format("{:#06x} {}: {}", partition.pkey, escaped_name(partition.name),
                               plural(joined.labels.size() - before, "host", "hosts")));
  }
  for (const Guid guid : unknown) unknown_names.add(to_string(guid));
  if (read.size() > kMaxFindingObjects) read.resize(kMaxFindingObjects);
  joined.findings.push_back({"partitionsRead", Severity::info,
                             fmt::format("{} has {}; hosts in them have a label, such as {}{:#06x}", source,
                                         plural(partitions.size(), "partition", "partitions"), kPartitionLabel,
                                         partitions.empty() ? 0 : partitions.front().pkey),
                             std::move(read)});
  if (partly.count > 0) {
    joined.findings.push_back(
        {"partlyInPartition", Severity::warning,
         fmt::format("{} only some of its adapters in a partition: {}; the partition's jobs cannot use the others",
                     plural(partly.count, "host has", "hosts have"), partly.example()),
         std::move(partly.names)});
  }
  if (unknown_names.count > 0) {
    joined.findings.push_back({"partitionGuidUnknown", Severity::warning,
                               fmt::format("{}: {} of partitions {} no adapter of the fabric: {}", source,
                                           plural(unknown_names.count, "GUID", "GUIDs"),
                                           unknown_names.count == 1 ? "is" : "are", unknown_names.example()),
                               std::move(unknown_names.names)});
  }
  return joined;
}

}  // namespace railweave::fabric
