// What the tests of fabric/formats share: the real files, building what a reader read, counts of a fabric, random
// fabrics.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/formats/read_fabric.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

// The text of a real file, relative to the shared data; nothing where it is absent.
inline std::optional<std::string> shared_file(const std::string& path) {
  std::ifstream file(std::filesystem::path(RAILWEAVE_SHARED_DATA) / path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Real files of one folder, by name; empty where the folder is absent.
inline std::vector<std::string> shared_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(RAILWEAVE_SHARED_DATA) / folder, error)) {
    names.push_back(folder + "/" + entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

#define RAILWEAVE_SHARED_FILE_OR_SKIP(text, path)                                            \
  const auto text##_file = ::railweave::fabric::shared_file(path);                           \
  if (!text##_file) GTEST_SKIP() << "the real file " << (path) << " is not on this machine"; \
  const std::string& text = *text##_file

struct Counts {
  std::size_t switches = 0, leaves = 0, hosts = 0, host_ports = 0, inter_switch_links = 0, aggregation_nodes = 0,
              routers = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

inline Counts count(const Topology& topology) {
  Counts counts{.switches = topology.switches().size(), .hosts = topology.hosts().size()};
  for (const auto sw : topology.switches()) counts.leaves += topology.is_leaf(sw) ? 1 : 0;
  for (const auto link : topology.links()) counts.inter_switch_links += topology.joins_switches(link) ? 1 : 0;
  for (const auto hca : topology.hcas()) {
    counts.aggregation_nodes += topology.kind(hca) == HcaKind::aggregation ? 1 : 0;
    counts.routers += topology.kind(hca) == HcaKind::router ? 1 : 0;
    if (topology.kind(hca) != HcaKind::host) continue;
    for (const auto port : topology.ports(hca)) counts.host_ports += topology.peer(port).valid() ? 1 : 0;
  }
  return counts;
}

inline std::size_t hosts_of_kind(const Topology& topology, HostKind kind) {
  std::size_t found = 0;
  for (const auto host : topology.hosts()) found += topology.kind(host) == kind ? 1 : 0;
  return found;
}

inline std::vector<Finding> findings(const Topology& topology, std::string_view code) {
  std::vector<Finding> found;
  for (const auto& finding : topology.source_findings()) {
    if (finding.code == code) found.push_back(finding);
  }
  return found;
}

// Builds what a reader made of a text; fails the test where that fails.
inline Topology must_read(std::string_view text, Format format = Format::unknown, const ReadOptions& options = {}) {
  auto topology = read_fabric(text, format, options);
  EXPECT_TRUE(topology.has_value()) << topology.error().text();
  if (!topology) {
    TopologyBuilder empty;
    empty.host("unreadable");
    return std::move(empty).build().value();
  }
  return std::move(*topology);
}

inline Topology built(TopologyBuilder&& builder) {
  auto topology = std::move(builder).build();
  EXPECT_TRUE(topology.has_value()) << topology.error().text();
  return std::move(topology.value());
}

// A fabric with everything a Topology can hold, and some of what it should not: names twice, links of unknown speed,
// GUIDs that are not known or shared. `dump_like` keeps to what an InfiniBand dump can say.
class RandomFabric {
 public:
  RandomFabric(std::uint64_t seed, bool dump_like) : random_(seed), dump_like_(dump_like) {}
  Topology make();

 private:
  std::size_t below(std::size_t bound) { return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_); }
  bool chance(unsigned percent) { return below(100) < percent; }
  std::string name(const char* prefix, std::size_t i);
  LinkSpec link_spec();

  // What is made so far, and what later parts refer to.
  struct Parts {
    TopologyBuilder builder;
    std::vector<SubnetId> subnets;
    std::vector<RackId> racks;
    std::vector<RailId> rails;
    std::vector<DomainDraft> domains;
    std::vector<CableEnd> free_ports;
    std::uint64_t last_guid = 0x2000;
  };
  Guid guid(Parts& parts);
  void add_groups(Parts& parts);  // racks, rails and NVLink domains
  void add_switch(Parts& parts, std::size_t i);
  HcaDraft add_hca(Parts& parts, HostDraft host, const std::string& host_name, HcaKind kind, std::size_t d);
  void add_host(Parts& parts, std::size_t i);
  void add_gpus(Parts& parts, HostDraft host, const std::vector<HcaDraft>& adapters);
  void add_cables(Parts& parts);
  void add_findings(Parts& parts);

  std::mt19937_64 random_;
  bool dump_like_;
};

}  // namespace railweave::fabric
