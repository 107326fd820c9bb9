#include "fabric/formats/gpu/gpu_affinity.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "fabric/base/natural_order.h"
#include "fabric/base/whole_number.h"

namespace railweave::fabric {
namespace {

auto nearness(const GpuAffinity::Near& near) { return std::tuple(near.distance, near.hops); }

// The equally near ones at the front.
std::size_t front_group(const std::vector<GpuAffinity::Near>& ranked) {
  std::size_t count = 0;
  while (count < ranked.size() && nearness(ranked[count]) == nearness(ranked.front())) ++count;
  return count;
}

// The affinity's adapters as a host's adapters; none where the host lacks one. `adapters` in natural order of their
// names.
std::vector<HcaDraft> find_adapters(const GpuAffinity& affinity, const std::vector<HcaDraft>& adapters,
                                    const TopologyBuilder& builder) {
  std::vector<HcaDraft> found(affinity.nics.size());
  const bool by_place = std::ranges::all_of(affinity.nics, [](const auto& nic) { return nic.device.empty(); });
  if (by_place) {
    if (adapters.size() == affinity.nics.size()) std::ranges::copy(adapters, found.begin());
    return found;
  }
  for (std::size_t i = 0; i < affinity.nics.size(); ++i) {
    const auto& device = affinity.nics[i].device;
    if (device.empty()) continue;
    auto match = std::ranges::find(adapters, device, [&](HcaDraft hca) { return builder.device(hca); });
    const std::size_t ordinal = adapter_ordinal(device);
    if (match == adapters.end() && ordinal != SIZE_MAX) {
      match = std::ranges::find(adapters, ordinal, [&](HcaDraft hca) { return adapter_ordinal(builder.device(hca)); });
    }
    if (match != adapters.end()) found[i] = *match;
  }
  return found;
}

class Application {
 public:
  Application(const GpuAffinity& affinity, TopologyBuilder& builder) : affinity_(affinity), builder_(builder) {}

  void apply(HostDraft host, std::vector<HcaDraft>& adapters) {
    std::ranges::sort(adapters, NaturalLess{}, [&](HcaDraft hca) { return builder_.device(hca); });
    const auto found = find_adapters(affinity_, adapters, builder_);
    if (std::ranges::none_of(found, [](HcaDraft hca) { return hca.valid(); })) {
      note(unmatched_, host);
      return;
    }
    bool lacking = false;
    const std::size_t gpus = std::min(affinity_.nics_of_gpu.size(), builder_.gpu_count(host));
    for (std::size_t g = 0; g < gpus; ++g) {
      const GpuDraft gpu = builder_.gpu(host, g);
      if (builder_.nic_count(gpu) > 0) continue;
      const auto& ranked = affinity_.nics_of_gpu[g];
      const auto nearest = std::ranges::find_if(ranked, [&](const auto& near) { return found[near.nic].valid(); });
      if (nearest == ranked.end()) lacking = true;
      for (auto near = nearest; near != ranked.end() && nearness(*near) == nearness(*nearest); ++near) {
        if (found[near->nic]) builder_.add_nic(gpu, found[near->nic]);
      }
    }
    if (lacking) note(lacking_, host);
    ++applied_;
  }

  std::size_t finish() {
    if (!unmatched_.empty()) {
      builder_.add_finding(
          {"affinityNotApplied", Severity::warning,
           "hosts of which no adapter is among those that the affinity file names; which adapter is near "
           "which of their GPUs stays unknown",
           std::move(unmatched_)});
    }
    if (!lacking_.empty()) {
      builder_.add_finding({"gpuWithoutNic", Severity::warning, "hosts with GPUs near none of the adapters they have",
                            std::move(lacking_)});
    }
    return applied_;
  }

 private:
  void note(std::vector<std::string>& hosts, HostDraft host) const {
    if (hosts.size() < kMaxFindingObjects) hosts.emplace_back(builder_.name(host));
  }

  const GpuAffinity& affinity_;
  TopologyBuilder& builder_;
  std::size_t applied_ = 0;
  std::vector<std::string> unmatched_, lacking_;
};

}  // namespace

void rank_adapters(GpuAffinity& affinity) {
  std::map<std::vector<unsigned>, std::size_t> sharers;  // of one set of equally near adapters: GPUs so far
  for (auto& ranked : affinity.nics_of_gpu) {
    std::ranges::sort(ranked, {}, [](const auto& near) { return std::tuple(near.distance, near.hops, near.nic); });
    const std::size_t group = front_group(ranked);
    if (group < 2) continue;
    std::vector<unsigned> nics;
    for (std::size_t i = 0; i < group; ++i) nics.push_back(ranked[i].nic);
    const std::size_t turn = sharers[nics]++ % group;
    std::rotate(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(turn),
                ranked.begin() + static_cast<std::ptrdiff_t>(group));
  }
}

std::size_t adapter_ordinal(std::string_view device) {
  std::size_t first = 0;  // what the first one is called
  if (device.starts_with("mlx5_") || device.starts_with("mlx4_")) {
    device.remove_prefix(5);
  } else if (device.starts_with("HCA-")) {
    device.remove_prefix(4);
    first = 1;
  } else {
    return SIZE_MAX;
  }
  const auto number = whole_number<std::size_t>(device);
  return number && *number >= first ? *number - first : SIZE_MAX;
}

std::size_t apply_affinity(const GpuAffinity& affinity, TopologyBuilder& builder) {
  return apply_affinity(affinity, [](std::string_view) { return true; }, builder);
}

std::size_t apply_affinity(const GpuAffinity& affinity, const std::function<bool(std::string_view)>& among,
                           TopologyBuilder& builder) {
  std::vector<std::vector<HcaDraft>> adapters(builder.host_count());
  for (std::size_t i = 0; i < builder.hca_count(); ++i) {
    const HcaDraft hca(i);
    if (const HostDraft host = builder.host_of(hca)) adapters[host.index()].push_back(hca);
  }
  Application application(affinity, builder);
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    const HostDraft host(i);
    if (builder.gpu_count(host) == affinity.nics_of_gpu.size() && builder.gpu_count(host) > 0 &&
        among(builder.name(host))) {
      application.apply(host, adapters[i]);
    }
  }
  return application.finish();
}

std::size_t apply_affinity(const GpuAffinity& affinity, HostDraft host, TopologyBuilder& builder) {
  std::vector<HcaDraft> adapters;
  for (std::size_t i = 0; i < builder.hca_count(); ++i) {
    if (builder.host_of(HcaDraft(i)) == host) adapters.emplace_back(i);
  }
  Application application(affinity, builder);
  application.apply(host, adapters);
  return application.finish();
}

}  // namespace railweave::fabric
