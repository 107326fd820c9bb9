#include "fabric/formats/gpu/attach_gpus.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/natural_order.h"

namespace railweave::fabric {
namespace {

Result<void> check(const GpuAttachment& attachment) {
  const unsigned node = attachment.gpus_per_node;
  const unsigned domain = attachment.nvlink_domain_gpus;
  if (node < 1 || node > TopologyBuilder::kMaxGpusPerHost) {
    return fail(ErrorKind::invalid, "gpus.perNode",
                fmt::format("a node cannot have {} GPUs; give 1 to {}", node, TopologyBuilder::kMaxGpusPerHost));
  }
  if (domain == 0 || (domain <= node ? node % domain : domain % node) == 0) return {};
  return fail(ErrorKind::invalid, "gpus.nvlinkDomain",
              domain < node
                  ? fmt::format("NVLink domains of {} GPUs do not divide a node of {}", domain, node)
                  : fmt::format("an NVLink domain of {} GPUs is not a whole number of nodes of {}", domain, node),
              {}, "give a divisor or a multiple of the GPUs per node, or 0 for no NVLink");
}

}  // namespace

Result<std::size_t> attach_gpus(TopologyBuilder& builder, const GpuAttachment& attachment) {
  if (auto checked = check(attachment); !checked) return std::unexpected(checked.error());
  std::vector<std::pair<std::string, HostDraft>> hosts;
  for (std::size_t i = 0; i < builder.host_count(); ++i) {
    const HostDraft host(i);
    if (builder.kind(host) == HostKind::compute && builder.gpu_count(host) == 0)
      hosts.emplace_back(builder.name(host), host);
  }
  if (hosts.empty()) {
    return fail(ErrorKind::invalid, "gpus.noHost", "no compute host without GPUs to give GPUs to", {},
                "which hosts count as compute is guessed from their names");
  }
  if (hosts.size() * attachment.gpus_per_node > TopologyBuilder::kMaxGpus) {
    return fail(
        ErrorKind::tooLarge, "fabric.tooLarge",
        fmt::format("{} hosts of {} GPUs are more GPUs than are supported", hosts.size(), attachment.gpus_per_node));
  }
  std::ranges::sort(hosts, [](const auto& a, const auto& b) { return natural_compare(a.first, b.first) < 0; });

  const unsigned domain_gpus = attachment.nvlink_domain_gpus;
  const std::size_t domain_nodes = std::max<std::size_t>(1, domain_gpus / attachment.gpus_per_node);
  DomainDraft domain;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto& [name, host] = hosts[i];
    if (domain_nodes > 1 && i % domain_nodes == 0) {
      const std::size_t last = std::min(i + domain_nodes, hosts.size()) - 1;
      std::string range = name;
      if (last > i) range += ".." + hosts[last].first;
      domain = builder.nvlink_domain(range, {}, attachment.rate_per_gpu);
      if (last + 1 - i < domain_nodes) {
        builder.add_finding(
            {"partialNvlinkDomain",
             Severity::info,
             fmt::format("the last NVLink domain has {} nodes, the others {}", last + 1 - i, domain_nodes),
             {range}});
      }
    }
    for (unsigned g = 0; g < attachment.gpus_per_node; ++g) {
      if (domain_gpus > 0 && domain_nodes == 1 && g % domain_gpus == 0) {
        const bool whole_node = domain_gpus == attachment.gpus_per_node;
        domain = builder.nvlink_domain(whole_node ? name : fmt::format("{}/nvlink-{}", name, g / domain_gpus), {},
                                       attachment.rate_per_gpu);
      }
      const GpuDraft gpu = builder.add_gpu(host);
      if (domain) builder.set_nvlink_domain(gpu, domain);
    }
  }
  return hosts.size();
}

}  // namespace railweave::fabric
