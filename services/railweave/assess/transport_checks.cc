// Transports of NCCL that are switched off.
#include <algorithm>
#include <cctype>

#include "services/railweave/assess/nccl_checks.h"
#include "services/railweave/terminal/formatted.h"

namespace railweave::cli {
namespace {

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

Advice left_on(const CheckedEnvironment& checked, const char* code, const char* severity, const char* name) {
  Advice one = checked.advice(code, severity, checked.setting(name) + " is left on");
  one.action = "unset it; if something failed without it, look for that with NCCL_DEBUG=INFO";
  return one;
}

// The largest rate of all adapters for jobs of one of the hosts.
double adapters_gbps(const CheckedEnvironment& checked) {
  double most = 0;
  for (const HostAdapters& host : checked.hosts) most = std::max(most, host.compute_gbps());
  return most;
}

double nvlink_gbps(const CheckedEnvironment& checked) {
  const fabric::Topology& t = *checked.site.topology;
  double most = 0;
  for (const fabric::HostId host : checked.host_ids) {
    for (const fabric::GpuId gpu : t.gpus(host)) {
      if (const auto domain = t.nvlink_domain(gpu)) most = std::max(most, t.rate_per_gpu(domain).gbps());
    }
  }
  return most;
}

void check_sockets(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  const bool forced = upper(checked.environment.value("NCCL_NET")) == "SOCKET";
  if (!forced && !checked.is_on("NCCL_IB_DISABLE")) return;
  const double gbps = adapters_gbps(checked);
  Advice one =
      left_on(checked, "ncclOverSockets", gbps > 0 ? "error" : "warning", forced ? "NCCL_NET" : "NCCL_IB_DISABLE");
  one.sure = gbps > 0 ? "certain that NCCL uses IP sockets then; the cables tell of adapters"
                      : "as sure as that these hosts have adapters for RDMA, which no source tells";
  one.cost = "all traffic between hosts goes through the kernel's IP, without GPUDirect";
  if (gbps > 0) one.cost += "; each host has " + formatted("%.0f Gb/s", gbps) + " of adapters for RDMA";
  advice.push_back(std::move(one));
}

void check_gpu_direct(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  const std::string level = upper(checked.environment.value("NCCL_NET_GDR_LEVEL"));
  if (level != "LOC" && level != "0") return;
  Advice one = left_on(checked, "ncclWithoutGpuDirect", "warning", "NCCL_NET_GDR_LEVEL");
  one.sure = "certain that adapters then never read the memory of GPUs; hosts where they cannot lose nothing by it";
  one.cost = "all traffic between hosts is copied through the host's memory";
  advice.push_back(std::move(one));
}

void check_peer_to_peer(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  const std::string level = upper(checked.environment.value("NCCL_P2P_LEVEL"));
  const bool off = level == "LOC" || level == "0";
  if (!off && !checked.is_on("NCCL_P2P_DISABLE")) return;
  Advice one = left_on(checked, "ncclWithoutPeerToPeer", "error", off ? "NCCL_P2P_LEVEL" : "NCCL_P2P_DISABLE");
  const double gbps = nvlink_gbps(checked);
  if (gbps == 0) one.severity = "warning";
  one.sure = "certain that GPUs of a host then do not reach each other directly, by NVLink or PCIe";
  one.cost = "traffic inside a host goes through the host's memory";
  if (gbps > 0) one.cost += " instead of NVLink, of which each GPU has " + formatted("%.0f Gb/s", gbps);
  advice.push_back(std::move(one));
}

void check_shared_memory(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  if (!checked.is_on("NCCL_SHM_DISABLE")) return;
  Advice one = left_on(checked, "ncclWithoutSharedMemory", "warning", "NCCL_SHM_DISABLE");
  one.sure = "certain for GPUs that cannot reach each other directly; others lose nothing by it";
  one.cost = "traffic between such GPUs of one host goes out by the network and back";
  advice.push_back(std::move(one));
}

}  // namespace

void check_transports(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  if (checked.may_span_hosts()) {
    check_sockets(checked, advice);
    check_gpu_direct(checked, advice);
  }
  if (checked.gpus_per_host == 1) return;
  check_peer_to_peer(checked, advice);
  check_shared_memory(checked, advice);
}

}  // namespace railweave::cli
