#include "scheduler/placement/fit/gpu_nics.h"

#include <algorithm>
#include <tuple>

namespace railweave::scheduler {
namespace {

using fabric::GpuId;
using fabric::HcaId;
using fabric::HostId;
using fabric::PortId;
using fabric::SubnetKind;
using fabric::Topology;

bool for_jobs(const Topology& topology, const GpuNic& nic) {
  if (!nic.rail) return false;
  const auto subnet = topology.subnet(nic.port);
  if (!subnet) return true;
  const SubnetKind kind = topology.kind(subnet);
  return kind == SubnetKind::compute || kind == SubnetKind::unknown;
}

void append_ports(const Topology& topology, HcaId hca, std::vector<GpuNic>& nics) {
  for (const PortId port : topology.ports(hca)) {
    if (topology.peer(port)) nics.push_back({hca, port, topology.rail(port)});
  }
}

// Only those on rails that jobs may use, where there are any.
void keep_best(const Topology& topology, std::vector<GpuNic>& nics) {
  const auto usable = [&](const GpuNic& nic) { return for_jobs(topology, nic); };
  if (std::ranges::any_of(nics, usable)) std::erase_if(nics, [&](const GpuNic& nic) { return !usable(nic); });
}

}  // namespace

GpuNics::GpuNics(const Topology& topology) {
  first_.push_back(0);
  host_first_gpu_.push_back(0);
  std::vector<GpuNic> nics;
  std::vector<GpuNic> of_host;
  for (const HostId host : topology.hosts()) {
    const auto gpus = topology.gpus(host);
    const bool known = std::ranges::any_of(gpus, [&](GpuId gpu) { return !topology.nics(gpu).empty(); });
    assumed_.push_back(known || gpus.empty() ? 0 : 1);
    of_host.clear();
    if (!known) {
      for (const HcaId hca : topology.hcas(host)) append_ports(topology, hca, of_host);
      keep_best(topology, of_host);
      std::ranges::stable_sort(of_host, {}, &GpuNic::rail);
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      nics.clear();
      if (known) {
        for (const HcaId hca : topology.nics(gpus[i])) append_ports(topology, hca, nics);
        keep_best(topology, nics);
      } else if (!of_host.empty()) {
        const std::size_t begin = i * of_host.size() / gpus.size();
        const std::size_t end = std::max(begin + 1, (i + 1) * of_host.size() / gpus.size());
        nics.assign(of_host.begin() + static_cast<std::ptrdiff_t>(begin),
                    of_host.begin() + static_cast<std::ptrdiff_t>(end));
      }
      const bool has_adapters = known ? !topology.nics(gpus[i]).empty() : !topology.hcas(host).empty();
      uncabled_.push_back(has_adapters && nics.empty() ? 1 : 0);
      rail_.push_back(nics.empty() ? fabric::RailId() : nics.front().rail);
      nics_.insert(nics_.end(), nics.begin(), nics.end());
      first_.push_back(static_cast<std::uint32_t>(nics_.size()));
      by_rail_.push_back(static_cast<std::uint8_t>(i));
    }
    host_first_gpu_.push_back(static_cast<std::uint32_t>(by_rail_.size()));
    const auto locals = std::span(by_rail_).last(gpus.size());
    // RailId::kNone is the largest value: GPUs on no rail come last.
    std::ranges::sort(locals, {}, [&](std::uint8_t i) { return std::tuple(rail_[gpus[i].index()], i); });
  }
  if (nics_.empty()) std::ranges::fill(uncabled_, 0);  // no network was imported
}

}  // namespace railweave::scheduler
