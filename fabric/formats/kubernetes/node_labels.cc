#include "fabric/formats/kubernetes/node_labels.h"

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "fabric/formats/text/json_reader.h"

namespace railweave::fabric {
namespace {

using Labels = std::map<std::string, std::string, std::less<>>;

constexpr std::size_t kMaxLabels = 1000;
constexpr std::string_view kTierLabel = "fabric.topograph.run/tier-";
constexpr std::string_view kZone = "topology.kubernetes.io/zone";

// Families of labels, nearest first.
constexpr std::array<std::array<std::string_view, 3>, 10> kFamilies{{
    {"network.topology.nvidia.com/leaf", "network.topology.nvidia.com/spine", "network.topology.nvidia.com/core"},
    {"network.topology.nvidia.com/block", "network.topology.nvidia.com/spine",
     "network.topology.nvidia.com/datacenter"},
    {"topology.k8s.aws/network-node-layer-3", "topology.k8s.aws/network-node-layer-2",
     "topology.k8s.aws/network-node-layer-1"},
    {"cloud.google.com/gce-topology-subblock", "cloud.google.com/gce-topology-block", ""},
    {"topology.gke.io/subblock", "topology.gke.io/block", "topology.gke.io/cluster"},
    {"oci.oraclecloud.com/rdma.local_block_id", "oci.oraclecloud.com/rdma.network_block_id",
     "oci.oraclecloud.com/rdma.hpc_island_id"},
    {"topology.nebius.com/tier-1", "topology.nebius.com/tier-2", "topology.nebius.com/tier-3"},
    {"backend.coreweave.cloud/leafgroup", "backend.coreweave.cloud/superpod", "backend.coreweave.cloud/fabric"},
    {"ib.coreweave.cloud/leafgroup", "ib.coreweave.cloud/superpod", "ib.coreweave.cloud/fabric"},
    {"cloud.provider.com/topology-rack", "cloud.provider.com/topology-block", ""},
}};
constexpr std::array<std::string_view, 5> kDomainLabels{
    "accelerator.topograph.run/domain", "network.topology.nvidia.com/accelerator", "topology.nebius.com/tier-0",
    "ds.coreweave.com/nvlink.domain", "topology.k8s.aws/ultraserver-id"};

std::string_view label(const Labels& labels, std::string_view name) {
  const auto found = labels.find(name);
  return found == labels.end() ? std::string_view() : std::string_view(found->second);
}

std::vector<std::string> tiers_of(const Labels& labels) {
  std::vector<std::string> tiers;
  for (unsigned tier = 0; tier + 1 < SiteFacts::kMaxTiers; ++tier) {
    const auto value = label(labels, fmt::format("{}{}", kTierLabel, tier));
    if (!value.empty()) tiers.emplace_back(value);
  }
  for (const auto& family : kFamilies) {
    if (!tiers.empty() || label(labels, family.front()).empty()) continue;
    for (const std::string_view name : family) {
      if (const auto value = label(labels, name); !value.empty()) tiers.emplace_back(value);
    }
  }
  if (const auto rack = label(labels, "topology.kubernetes.io/rack"); tiers.empty() && !rack.empty()) {
    tiers.emplace_back(rack);
  }
  if (const auto zone = label(labels, kZone); !tiers.empty() && !zone.empty()) tiers.emplace_back(zone);
  return tiers;
}

struct KubernetesNode {
  std::string name, kind;
  Labels labels;
  unsigned gpus = 0;
  std::string unreadable_gpus;  // where a count is no whole number
};

bool read_labels(JsonReader& json, Labels& labels) {
  return json.entries([&](std::string_view key) {
    const std::string name(key);
    std::string value;
    if (json.peek() != '"') return json.skip_value();
    if (!json.string(value)) return false;
    if (labels.size() < kMaxLabels) labels.emplace(name, std::move(value));
    return true;
  });
}

// "8", or 8.
bool read_quantity(JsonReader& json, KubernetesNode& node) {
  if (json.peek() != '"') return json.whole_number(node.gpus, UINT16_MAX);
  std::string text;
  if (!json.string(text)) return false;
  if (const auto value = whole_number<unsigned>(text)) {
    node.gpus += *value;
  } else {
    node.unreadable_gpus = text;
  }
  return true;
}

bool read_status(JsonReader& json, KubernetesNode& node) {
  return json.entries([&](std::string_view key) {
    if (key != "capacity" || json.peek() != '{') return json.skip_value();
    return json.entries([&](std::string_view resource) {
      const bool gpus = resource == "nvidia.com/gpu" || resource == "amd.com/gpu";
      return gpus ? read_quantity(json, node) : json.skip_value();
    });
  });
}

bool read_metadata(JsonReader& json, KubernetesNode& node) {
  return json.entries([&](std::string_view key) {
    if (key == "name" && json.peek() == '"') return json.string(node.name);
    return key == "labels" && json.peek() == '{' ? read_labels(json, node.labels) : json.skip_value();
  });
}

class NodeListReader {
 public:
  NodeListReader(std::string_view text, const ReadOptions& options, SiteFacts& facts)
      : json_(text, options.source), options_(options), facts_(facts) {}

  Result<void> read() {
    KubernetesNode alone;  // the document may be one node
    const bool ok = json_.entries([&](std::string_view key) {
      if (key == "items" && json_.peek() == '[') return read_items();
      return read_field(key, alone);
    });
    if (facts_.over_limit() > 0) {
      return fail(ErrorKind::tooLarge, "fabric.tooLarge", "too many nodes", options_.source);
    }
    if (!ok || !json_.end()) return std::unexpected(json_.error());
    if (!alone.name.empty()) add(alone);
    if (rows_ > 0) return {};
    return fail(ErrorKind::malformed, "kubernetes.noNodes", "there is no node in the list",
                location_text(options_.source, 1, 1), "give the output of kubectl get nodes -o json");
  }

 private:
  bool read_field(std::string_view key, KubernetesNode& node) {
    if (key == "kind" && json_.peek() == '"') return json_.string(node.kind);
    if (json_.peek() != '{') return json_.skip_value();
    if (key == "metadata") return read_metadata(json_, node);
    return key == "status" ? read_status(json_, node) : json_.skip_value();
  }

  bool read_items() {
    return json_.array([&] {
      if (json_.peek() != '{') {
        facts_.leave_out(fmt::format("item {}", ++rows_), "it is no node");
        return json_.skip_value();
      }
      KubernetesNode node;
      if (!json_.entries([&](std::string_view key) { return read_field(key, node); })) return false;
      add(node);
      return facts_.over_limit() == 0;
    });
  }

  void add(const KubernetesNode& node) {
    ++rows_;
    if (node.name.empty() || (!node.kind.empty() && node.kind != "Node")) {
      return facts_.leave_out(fmt::format("item {}", rows_), node.name.empty() ? "it has no name" : "it is no node");
    }
    if (!node.unreadable_gpus.empty()) {
      facts_.leave_out(node.name, "no number of GPUs: " + node.unreadable_gpus);
    }
    facts_.add_gpus(node.name, node.gpus, label(node.labels, "nvidia.com/gpu.product"));
    facts_.add_tiers(node.name, tiers_of(node.labels));
    facts_.add_zone(node.name, label(node.labels, kZone));
    if (!label(node.labels, "nvidia.com/gpu.clique").empty()) facts_.set_nvlink_told(node.name);
    for (const std::string_view name : kDomainLabels) {
      if (const auto domain = label(node.labels, name); !domain.empty()) return facts_.add_domain(node.name, domain);
    }
  }

  JsonReader json_;
  const ReadOptions& options_;
  SiteFacts& facts_;
  std::size_t rows_ = 0;
};

}  // namespace

Result<void> read_kubernetes_nodes(std::string_view text, const ReadOptions& options, SiteFacts& facts) {
  return NodeListReader(text, options, facts).read();
}

}  // namespace railweave::fabric
