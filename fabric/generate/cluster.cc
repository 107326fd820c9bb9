#include "fabric/generate/cluster.h"

#include <algorithm>

#include <fmt/core.h>

#include "fabric/base/check.h"
#include "fabric/generate/limits.h"

namespace railweave::fabric {
namespace {

constexpr std::uint32_t kGpusPerRack = 72;  // of a platform whose NVLink leaves the host

// In the form in which a fabric manager reports it; the same in every run.
std::string cluster_uuid(std::size_t n) {
  std::string digits = to_string(Guid(n + 1));
  return "52570000-0000-4000-8000-" + digits.substr(4);
}

}  // namespace

std::uint32_t HostsSpec::rack_size() const {
  if (hosts_per_rack > 0 || hosts_per_domain() == 1) return hosts_per_rack;
  return std::min(hosts_per_domain(), std::max(1U, kGpusPerRack / gpus_per_host));
}

Result<void> check_cluster(const ClusterSpec& spec) {
  const HostsSpec& hosts = spec.hosts;
  if (hosts.hosts == 0 || hosts.hosts > kMaxGeneratedHosts) {
    return impossible(fmt::format("the cluster has {} hosts", hosts.hosts),
                      fmt::format("1 to {} are possible", kMaxGeneratedHosts));
  }
  if (hosts.gpus_per_host > TopologyBuilder::kMaxGpusPerHost || hosts.nics_per_host == 0 || hosts.nics_per_host > 64) {
    return impossible(fmt::format("a host has {} GPUs and {} adapters", hosts.gpus_per_host, hosts.nics_per_host),
                      "up to 64 GPUs and 1 to 64 adapters are possible");
  }
  if (hosts.nvlink_domain > 1 && hosts.gpus_per_host == 0) {
    return impossible("there are NVLink domains without GPUs", "set gpus-per-host, or nvlink-domain 1 for none");
  }
  const bool within = hosts.nvlink_domain <= hosts.gpus_per_host;
  if (hosts.nvlink_domain > 1 &&
      (within ? hosts.gpus_per_host % hosts.nvlink_domain : hosts.nvlink_domain % hosts.gpus_per_host) != 0) {
    return impossible(
        fmt::format("NVLink domains of {} GPUs do not fit hosts of {}", hosts.nvlink_domain, hosts.gpus_per_host),
        "one must be a multiple of the other");
  }
  const std::uint32_t domain_hosts = hosts.hosts_per_domain();
  if (hosts.hosts % domain_hosts != 0) {
    return impossible(
        fmt::format("{} hosts are not a multiple of NVLink domains of {} hosts", hosts.hosts, domain_hosts),
        fmt::format("use {} hosts", (hosts.hosts / domain_hosts + 1) * domain_hosts));
  }
  const std::uint32_t rack = hosts.rack_size();
  if (rack > 0 && domain_hosts > 1 && domain_hosts % rack != 0 && rack % domain_hosts != 0) {
    return impossible(fmt::format("racks of {} hosts divide NVLink domains of {} hosts", rack, domain_hosts),
                      "one must be a multiple of the other");
  }
  if (spec.planes == 0 || hosts.nics_per_host % spec.planes != 0) {
    return impossible(
        fmt::format("{} adapters per host do not spread evenly over {} planes", hosts.nics_per_host, spec.planes),
        "planes must divide the adapters per host");
  }
  if (spec.storage_servers > kMaxGeneratedHosts) {
    return impossible(fmt::format("{} storage servers", spec.storage_servers),
                      fmt::format("up to {} are possible", kMaxGeneratedHosts));
  }
  return {};
}

Result<HostBlock> add_hosts(const HostsSpec& spec, TopologyBuilder& builder) {
  HostBlock block;
  block.nics_per_host = spec.nics_per_host;
  const std::uint32_t domain_hosts = spec.hosts_per_domain();
  const std::uint32_t rack_hosts = spec.rack_size();
  const RateMbps rate = spec.nvlink_rate != RateMbps() ? spec.nvlink_rate : from_gbps(domain_hosts > 1 ? 7200 : 3600);
  const bool nvlink = spec.nvlink_domain > 1;
  const std::string domain_stem = fmt::format("{}nvl{}-", spec.prefix, spec.nvlink_domain);
  std::vector<std::string> devices;
  for (std::uint32_t n = 0; n < spec.nics_per_host; ++n) devices.push_back(fmt::format("mlx5_{}", n));

  for (std::uint32_t h = 0; h < spec.hosts; ++h) {
    const std::string name = numbered(spec.prefix + "node-", h, spec.hosts);
    if (builder.find_host(name)) {
      return fail(ErrorKind::conflict, "generate.nameTaken", "the fabric already has a host called " + name, {},
                  "use another prefix for each cluster");
    }
    const HostDraft host = builder.host(name);
    block.hosts.push_back(host);
    if (rack_hosts > 0) {
      const std::uint32_t racks = (spec.hosts + rack_hosts - 1) / rack_hosts;
      builder.set_rack(host, builder.rack(numbered(spec.prefix + "rack-", h / rack_hosts, racks)));
    }
    for (std::uint32_t n = 0; n < spec.nics_per_host; ++n) {
      const Guid guid = generated_hca_guid(builder.hca_count());
      const std::string description = name + " " + devices[n];
      const HcaDraft hca =
          builder.add_hca({.guid = guid, .host = host, .device = devices[n], .description = description, .ports = 1});
      block.nics.push_back(hca);
    }
    for (std::uint32_t g = 0; g < spec.gpus_per_host; ++g) {
      const GpuDraft gpu = builder.add_gpu(host);
      const std::uint32_t first = g * spec.nics_per_host / spec.gpus_per_host;
      const std::uint32_t end = std::max(first + 1, (g + 1) * spec.nics_per_host / spec.gpus_per_host);
      for (std::uint32_t n = first; n < end; ++n) builder.add_nic(gpu, block.nic(h, n));
      if (!nvlink) continue;
      if (domain_hosts > 1) {
        const std::uint32_t d = h / domain_hosts;
        const std::string domain = numbered(domain_stem, d, spec.hosts / domain_hosts);
        // The index of the first host makes the identifier unique among several clusters in one builder.
        const std::size_t first_host = builder.host_count() - 1 - h % domain_hosts;
        builder.set_nvlink_domain(gpu, builder.nvlink_domain(domain, cluster_uuid(first_host), rate), 0);
      } else {
        const std::uint32_t part = g / spec.nvlink_domain;
        const bool whole = spec.nvlink_domain == spec.gpus_per_host;
        const std::string domain = "nvl-" + name + (whole ? "" : fmt::format("-{}", part));
        builder.set_nvlink_domain(gpu, builder.nvlink_domain(domain, "", rate));
      }
    }
  }
  return block;
}

PlaneAdapters plane_adapters(const HostBlock& block, std::uint32_t plane, std::uint32_t planes) {
  RAILWEAVE_CHECK(planes > 0 && plane < planes && block.nics_per_host % planes == 0,
                  "check_cluster() was called before");
  const std::uint32_t per_host = block.nics_per_host / planes;
  return {&block, plane * per_host, per_host};
}

std::string numbered(std::string_view stem, std::size_t index, std::size_t count) {
  const std::string number = std::to_string(index + 1);
  const std::size_t width = std::to_string(count).size();
  return fmt::format("{}{}{}", stem, std::string(width > number.size() ? width - number.size() : 0, '0'), number);
}

// 0x02 as the first byte is the "locally administered" bit of an EUI-64; 0x5257 is "RW".
Guid generated_switch_guid(std::size_t n) { return Guid(0x0252'5701'0000'0000ULL + ((n + 1) << 4U)); }
Guid generated_hca_guid(std::size_t n) { return Guid(0x0252'5702'0000'0000ULL + ((n + 1) << 4U)); }

}  // namespace railweave::fabric
