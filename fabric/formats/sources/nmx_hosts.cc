#include "fabric/formats/sources/nmx_hosts.h"

#include <set>
#include <unordered_map>

#include <fmt/core.h>

namespace railweave::fabric {
namespace {

class HostJoin {
 public:
  HostJoin(const NmxSource& source, const std::unordered_map<std::uint64_t, std::string>& host_of, SiteFacts& facts)
      : source_(source), host_of_(host_of), facts_(facts) {}

  void join() {
    facts_.begin_source(source_.name);
    for (const NmxGpu& gpu : source_.domain.gpus) add(gpu);
    for (const std::string& tray : unknown_trays_) {
      facts_.leave_out(tray, "no host's nvidia-smi -q -x tells one of its GPUs");
    }
  }

 private:
  void add(const NmxGpu& gpu) {
    const auto found = host_of_.find(gpu.guid);
    if (found == host_of_.end()) {
      unknown_trays_.insert(gpu.tray);
      return;
    }
    const auto leave_out = [&](const std::string& why) {
      facts_.leave_out(fmt::format("{}, GPU {:#018x}", found->second, gpu.guid), why);
    };
    if (is_without_nvlink(gpu)) return leave_out("the controller says that it has no NVLink");
    if (gpu.partition == 0) return leave_out("it is in no partition");
    const auto [first, is_new] = partition_of_.try_emplace(found->second, gpu.partition);
    if (first->second != gpu.partition) {
      return leave_out(fmt::format("it is in partition {}, its host's first in {}", gpu.partition, first->second));
    }
    if (is_new) facts_.add_domain(found->second, fmt::format("{}.{}", source_.domain.uuid, gpu.partition));
  }

  const NmxSource& source_;
  const std::unordered_map<std::uint64_t, std::string>& host_of_;
  SiteFacts& facts_;
  std::unordered_map<std::string, std::uint32_t> partition_of_;
  std::set<std::string> unknown_trays_;
};

}  // namespace

void join_nmx_hosts(const std::vector<NmxSource>& sources, const std::vector<HostGuids>& hosts, SiteFacts& facts) {
  std::unordered_map<std::uint64_t, std::string> host_of;
  for (const HostGuids& host : hosts) {
    for (const std::uint64_t guid : host.guids) host_of.emplace(guid, host.host);
  }
  for (const NmxSource& source : sources) HostJoin(source, host_of, facts).join();
}

}  // namespace railweave::fabric
