// Choices that NCCL makes better by itself, and the file of a machine's topology.
#include "services/railweave/assess/nccl_checks.h"

namespace railweave::cli {
namespace {

void check_pinned(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  if (checked.environment.has("NCCL_ALGO") && !checked.environment.value("NCCL_ALGO").empty()) {
    Advice one = checked.advice("ncclChoicePinned", "warning", checked.setting("NCCL_ALGO") + " pins the algorithms");
    one.sure = "certain that NCCL then chooses among these alone; what is lost depends on sizes and numbers of ranks";
    one.cost = "small and large collectives, and other numbers of ranks, need different algorithms";
    one.action = "unset it, and compare with nccl-tests";
    advice.push_back(std::move(one));
  }
  const std::string protocols = checked.environment.value("NCCL_PROTO");
  if (protocols.empty()) return;
  Advice one = checked.advice("ncclChoicePinned", "warning", checked.setting("NCCL_PROTO") + " pins the protocols");
  one.sure = "certain that NCCL then chooses among these alone";
  one.cost = "latency of small messages or bandwidth of large ones";
  const bool forced = !protocols.starts_with('^') && protocols.find("LL128") != std::string::npos;
  if (forced) one.cost += "; LL128 where the machine does not support it corrupts data";
  if (forced) one.severity = "error";
  one.action = "unset it, and compare with nccl-tests";
  advice.push_back(std::move(one));
}

// Where the machine's own PCI tree is virtual, NCCL needs to be told the real one.
void check_topology_file(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  if (!checked.lacks("NCCL_TOPO_FILE") || checked.gpus_per_host == 1) return;
  std::string because;
  for (const std::string& host : checked.environment.hosts) {
    const auto found = checked.site.virtual_machines.find(host.substr(0, host.find('.')));
    if (found == checked.site.virtual_machines.end()) continue;
    because = host + " is of type " + found->second;
    break;
  }
  if (because.empty() && !checked.site.topology_file.empty()) {
    because = checked.site.topology_file + " is a file for it, written and not detected";
  }
  if (because.empty()) return;
  Advice one = checked.advice("ncclTopologyMissing", "warning",
                              "NCCL_TOPO_FILE is not set on machines whose PCI tree is virtual");
  one.sure = "likely: " + because +
             "; NCCL also finds /var/run/nvidia-topologyd/virtualTopology.xml, and a network plugin may "
             "bring a file";
  one.cost = "NCCL cannot see which adapter is near which GPU: traffic crosses CPUs, and GPUDirect may be off";
  one.action = "NCCL_TOPO_FILE=FILE, with the file for this type of machine; see NCCL_DEBUG=INFO";
  advice.push_back(std::move(one));
}

}  // namespace

void check_tuning(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  check_pinned(checked, advice);
  check_topology_file(checked, advice);
}

}  // namespace railweave::cli
