#include "fabric/formats/gpu/nvlink_cliques.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "fabric/formats/gpu/clique_rows.h"

namespace railweave::fabric {
namespace {

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return result;
}

bool is_zero_uuid(std::string_view uuid) { return uuid.find_first_not_of("0-") == std::string_view::npos; }

// Nodes that one finding is about.
class NodesFinding {
 public:
  NodesFinding(std::string_view code, Severity severity, std::string_view message)
      : code_(code), severity_(severity), message_(message) {}
  void add(std::string_view node) {
    if (nodes_.size() < kMaxFindingObjects) nodes_.emplace_back(node);
  }
  void report(TopologyBuilder& builder) {
    if (!nodes_.empty()) builder.add_finding({code_, severity_, message_, std::move(nodes_)});
  }

 private:
  std::string code_;
  Severity severity_;
  std::string message_;
  std::vector<std::string> nodes_;
};

class CliqueApplication {
 public:
  CliqueApplication(const NvlinkCliqueOptions& options, TopologyBuilder& builder)
      : options_(options), builder_(builder) {}

  void apply(const std::vector<CliqueRow>& rows) {
    std::map<std::string_view, std::vector<const CliqueRow*>> by_node;
    for (const auto& row : rows) by_node[row.node].push_back(&row);
    for (const auto& [node, of_node] : by_node) apply_node(node, of_node);
    for (auto* finding : {&contradictory_, &absent_, &without_gpus_, &single_, &unknown_platform_})
      finding->report(builder_);
  }

 private:
  void apply_node(std::string_view node, const std::vector<const CliqueRow*>& rows) {
    const CliqueRow& row = *rows.front();
    const bool agreed = std::ranges::all_of(rows, [&](const auto* other) {
      return other->cluster_uuid == row.cluster_uuid && other->clique == row.clique;
    });
    if (!agreed) return contradictory_.add(node);
    HostDraft host = builder_.find_host(node);
    const auto dot = node.find('.');
    const bool is_address = node.find_first_not_of("0123456789.:") == std::string_view::npos;
    if (!host && dot != std::string_view::npos && !is_address) host = builder_.find_host(node.substr(0, dot));
    if (!host) return absent_.add(node);
    if (builder_.gpu_count(host) == 0) return without_gpus_.add(node);
    std::string_view platform = options_.platform;
    for (const auto* other : rows) {
      if (!other->platform.empty()) platform = other->platform;
    }
    if (is_zero_uuid(row.cluster_uuid) || (!platform.empty() && !has_multi_node_nvlink(platform))) {
      single_.add(node);
      return keep_own_domain(host);
    }
    if (platform.empty()) {
      unknown_platform_.add(node);
      return keep_own_domain(host);
    }
    const DomainDraft domain = builder_.nvlink_domain(row.cluster_uuid, row.cluster_uuid, options_.rate_per_gpu);
    for (std::size_t g = 0; g < builder_.gpu_count(host); ++g) {
      builder_.set_nvlink_domain(builder_.gpu(host, g), domain, row.clique);
    }
  }

  void keep_own_domain(HostDraft host) {
    const std::string name(builder_.name(host));
    for (std::size_t g = 0; g < builder_.gpu_count(host); ++g) {
      const GpuDraft gpu = builder_.gpu(host, g);
      if (builder_.nvlink_domain(gpu)) continue;
      builder_.set_nvlink_domain(gpu, builder_.nvlink_domain(name, {}, options_.rate_per_gpu));
    }
  }

  const NvlinkCliqueOptions& options_;
  TopologyBuilder& builder_;
  NodesFinding contradictory_{
      "cliqueContradiction", Severity::error,
      "nodes that the clique list puts into several cliques; their NVLink domains are left as they were"};
  NodesFinding absent_{"nodeNotInFabric", Severity::warning, "nodes of the clique list that the fabric does not have"};
  NodesFinding without_gpus_{"nodeWithoutGpus", Severity::warning,
                             "nodes of the clique list that have no GPUs in the fabric"};
  NodesFinding single_{
      "cliqueSingleNode", Severity::info,
      "nodes whose NVLink ends at the machine, by their platform or because clusterUuid is all zeros; each is a "
      "domain of its own"};
  NodesFinding unknown_platform_{
      "cliquePlatformUnknown", Severity::warning,
      "nodes of which it is not known whether their NVLink joins machines; each is a domain of its "
      "own. Name the platform (GB200, for example) to join them"};
};

}  // namespace

bool has_multi_node_nvlink(std::string_view platform) {
  const std::string name = upper(platform);
  static constexpr std::array<std::string_view, 4> kRackScale{"GB200", "GB300", "VR200", "A4X"};
  // NVL<n> says how many GPUs one NVLink domain has; machines have up to 8.
  for (auto at = name.find("NVL"); at != std::string::npos; at = name.find("NVL", at + 1)) {
    unsigned gpus = 0;
    const char* digits = name.data() + at + 3;
    if (std::from_chars(digits, name.data() + name.size(), gpus).ec == std::errc()) return gpus > 8;
  }
  return std::ranges::any_of(kRackScale, [&](auto word) { return name.find(word) != std::string::npos; });
}

Result<void> read_nvlink_cliques(std::string_view text, const NvlinkCliqueOptions& options, TopologyBuilder& builder) {
  auto rows = read_clique_rows(text, options.read, builder);
  if (!rows) return std::unexpected(std::move(rows.error()));
  CliqueApplication(options, builder).apply(*rows);
  return {};
}

}  // namespace railweave::fabric
