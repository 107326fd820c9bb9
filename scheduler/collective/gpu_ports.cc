#include "scheduler/collective/gpu_ports.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "fabric/topology/rail_coverage.h"

namespace railweave::scheduler {
namespace {

using fabric::GpuId;
using fabric::HcaId;
using fabric::HostId;
using fabric::PortId;
using fabric::RailId;
using fabric::SubnetKind;
using fabric::Topology;

using Ports = std::vector<PortId>;

bool for_jobs(const Topology& topology, PortId port) {
  if (!topology.rail(port)) return false;
  const auto subnet = topology.subnet(port);
  if (!subnet) return true;
  const SubnetKind kind = topology.kind(subnet);
  return kind == SubnetKind::compute || kind == SubnetKind::unknown;
}

void append_cabled(const Topology& topology, HcaId hca, Ports& ports) {
  for (const PortId port : topology.ports(hca)) {
    if (topology.peer(port)) ports.push_back(port);
  }
}

// Only those on rails that jobs may use, where there are any.
void keep_best(const Topology& topology, Ports& ports) {
  const auto usable = [&](PortId port) { return for_jobs(topology, port); };
  if (std::ranges::any_of(ports, usable)) std::erase_if(ports, [&](PortId port) { return !usable(port); });
}

// By GPU of a host whose source states affinity.
void choose_nearest(const Topology& topology, HostId host, std::vector<Ports>& of_gpu) {
  std::map<HcaId, std::size_t> best_place;  // at which any GPU of the host lists the adapter
  std::vector<std::vector<std::pair<std::size_t, PortId>>> listed(of_gpu.size());
  const auto gpus = topology.gpus(host);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (const HcaId hca : topology.nics(gpus[i])) append_cabled(topology, hca, of_gpu[i]);
    keep_best(topology, of_gpu[i]);
    std::size_t place = 0;
    HcaId last;
    for (const PortId port : of_gpu[i]) {
      const HcaId hca = topology.hca_of(port);
      if (last && hca != last) ++place;
      last = hca;
      listed[i].emplace_back(place, port);
      const auto [at, is_new] = best_place.try_emplace(hca, place);
      if (!is_new) at->second = std::min(at->second, place);
    }
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    of_gpu[i].clear();
    for (const auto& [place, port] : listed[i]) {
      if (place == best_place.at(topology.hca_of(port))) of_gpu[i].push_back(port);
    }
  }
}

// By GPU of a host whose source states none. A place without a port stands for a rail that the host lacks.
void deal(const Topology& topology, HostId host, std::span<const RailId> missing, std::vector<Ports>& of_gpu) {
  Ports cabled;
  for (const HcaId hca : topology.hcas(host)) append_cabled(topology, hca, cabled);
  keep_best(topology, cabled);
  std::vector<std::pair<RailId, PortId>> places;
  for (const PortId port : cabled) places.emplace_back(topology.rail(port), port);
  if (!cabled.empty()) {
    for (const RailId rail : missing) places.emplace_back(rail, PortId());
  }
  std::ranges::stable_sort(places, {}, [](const auto& place) { return place.first; });
  for (std::size_t i = 0; i < of_gpu.size() && !places.empty(); ++i) {
    const std::size_t begin = i * places.size() / of_gpu.size();
    const std::size_t end = std::max(begin + 1, (i + 1) * places.size() / of_gpu.size());
    for (std::size_t place = begin; place < end; ++place) {
      if (places[place].second) of_gpu[i].push_back(places[place].second);
    }
  }
}

// The GPU whose index is nearest, of equals the lower one, lends its ports.
void share_with_neighbours(std::vector<Ports>& of_gpu) {
  const std::vector<Ports> own = of_gpu;
  for (std::size_t i = 0; i < own.size(); ++i) {
    for (std::size_t away = 1; of_gpu[i].empty() && away < own.size(); ++away) {
      if (i >= away && !own[i - away].empty()) {
        of_gpu[i] = own[i - away];
      } else if (i + away < own.size()) {
        of_gpu[i] = own[i + away];
      }
    }
  }
}

}  // namespace

GpuPorts gpu_ports(const Topology& topology) {
  GpuPorts result;
  std::optional<std::map<HostId, std::vector<RailId>>> missing;  // rails of hosts short of some; made when first needed
  const auto missing_of = [&](HostId host) -> std::span<const RailId> {
    if (!missing) {
      missing.emplace();
      for (auto& shortfall : fabric::hosts_short_of_rail(topology)) {
        missing->emplace(shortfall.host, std::move(shortfall.missing));
      }
    }
    const auto found = missing->find(host);
    return found == missing->end() ? std::span<const RailId>() : std::span<const RailId>(found->second);
  };
  std::vector<Ports> of_gpu;
  for (const HostId host : topology.hosts()) {
    const auto gpus = topology.gpus(host);
    const bool known = std::ranges::any_of(gpus, [&](GpuId gpu) { return !topology.nics(gpu).empty(); });
    result.assumed.push_back(known || gpus.empty() ? 0 : 1);
    of_gpu.assign(gpus.size(), {});
    if (known) {
      choose_nearest(topology, host, of_gpu);
    } else if (!gpus.empty()) {
      deal(topology, host, missing_of(host), of_gpu);
    }
    share_with_neighbours(of_gpu);
    for (const Ports& ports : of_gpu) {
      result.ports.insert(result.ports.end(), ports.begin(), ports.end());
      result.first.push_back(static_cast<std::uint32_t>(result.ports.size()));
    }
  }
  return result;
}

}  // namespace railweave::scheduler
