// NCCL_IB_HCA, NCCL_SOCKET_IFNAME and NCCL_CROSS_NIC against the adapters that hosts have.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "services/railweave/assess/nccl_checks.h"
#include "services/railweave/assess/nccl_names.h"
#include "services/railweave/terminal/formatted.h"

namespace railweave::cli {
namespace {

constexpr const char* kHca = "NCCL_IB_HCA";
constexpr const char* kInterface = "NCCL_SOCKET_IFNAME";

// What a list makes of one host's adapters.
struct Selection {
  std::size_t compute = 0, other = 0;
  double gbps = 0;                  // of those for jobs
  std::set<std::string> by_chance;  // admitted by the beginning of a name alone, with the whole name there too
};

bool is_whole_name(const HostAdapters& host, const std::string& name) {
  return std::ranges::any_of(host.ports, [&](const AdapterPort& port) { return port.device == name; });
}

Selection select(const HostAdapters& host, const NcclNames& names) {
  Selection selection;
  for (const AdapterPort& port : host.ports) {
    if (!names.admits(port.device, port.number)) continue;
    ++(port.compute ? selection.compute : selection.other);
    if (port.compute) selection.gbps += port.gbps;
    if (names.excludes || names.whole) continue;
    const bool named = std::ranges::any_of(names.names, [&](const auto& entry) { return entry.name == port.device; });
    const bool longer = std::ranges::any_of(names.names, [&](const auto& entry) {
      return port.device.starts_with(entry.name) && is_whole_name(host, entry.name);
    });
    if (!named && longer) selection.by_chance.insert(port.device);
  }
  return selection;
}

std::string sure_of(const HostAdapters& host) {
  return "certain for " + host.host + ", whose adapters the cables tell; hosts that no source knows are not judged";
}

// The first host with the fewest compute ports admitted: what the slowest host of a job has counts for all.
void check_list(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  const NcclNames names = read_nccl_names(checked.environment.value(kHca), true);
  const HostAdapters* worst = nullptr;
  const HostAdapters* mixed = nullptr;
  const HostAdapters* trapped = nullptr;
  Selection fewest;
  std::size_t concerned = 0;
  for (const HostAdapters& host : checked.hosts) {
    if (!host.named() || host.compute_ports() == 0) continue;
    const Selection selection = select(host, names);
    if (selection.other > 0 && mixed == nullptr) mixed = &host;
    if (!selection.by_chance.empty() && trapped == nullptr) trapped = &host;
    if (selection.compute == host.compute_ports()) continue;
    ++concerned;
    if (worst == nullptr || selection.compute < fewest.compute) {
      worst = &host;
      fewest = selection;
    }
  }
  const std::string hosts = plural(concerned, "host", "hosts");
  if (worst != nullptr && fewest.compute + fewest.other == 0) {
    Advice one =
        checked.advice("ncclNoAdapter", "error",
                       checked.setting(kHca) + " names no adapter that " + hosts + (concerned == 1 ? " has" : " have"));
    one.sure = sure_of(*worst);
    one.cost = "NCCL falls back to IP sockets there, or fails: " + formatted("%.0f Gb/s", worst->compute_gbps()) +
               " of adapters of each host are not used";
    one.action = fmt::format("unset it, or {}={}", kHca, worst->compute_list());
    advice.push_back(std::move(one));
  } else if (worst != nullptr) {
    Advice one = checked.advice("ncclRailsLeftOut", "error",
                                fmt::format("{} uses {} of {}", checked.setting(kHca), fewest.compute,
                                            plural(worst->compute_ports(), "adapter port", "adapter ports")));
    one.sure = sure_of(*worst);
    one.cost = "traffic between hosts has " + formatted("%.0f of ", fewest.gbps) +
               formatted("%.0f Gb/s", worst->compute_gbps()) + " on " + hosts +
               ", and a collective runs at the rate of the slowest host";
    one.action = fmt::format("unset it, or {}={}", kHca, worst->compute_list());
    advice.push_back(std::move(one));
  }
  if (mixed != nullptr) {
    Advice one = checked.advice("ncclOtherAdapters", "warning",
                                checked.setting(kHca) + " also uses adapters of a storage or management network");
    one.sure = sure_of(*mixed);
    one.cost = "rings over these adapters are slower, and disturb storage";
    one.action = fmt::format("{}={}", kHca, mixed->compute_list());
    advice.push_back(std::move(one));
  } else if (trapped != nullptr) {
    Advice one = checked.advice("ncclNamesByChance", "warning",
                                checked.setting(kHca) + " also means adapters whose names begin like those in it");
    one.sure = sure_of(*trapped);
    one.cost = "adapters are used that were not meant";
    one.action = fmt::format("{}={} (\"=\" asks for whole names)", kHca, trapped->compute_list());
    advice.push_back(std::move(one));
  }
}

void check_missing_list(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  const auto found = std::ranges::find_if(checked.hosts, [](const HostAdapters& host) {
    return host.named() && host.compute_ports() > 0 && host.compute_ports() < host.ports.size();
  });
  if (found == checked.hosts.end()) return;
  Advice one =
      checked.advice("ncclAdaptersNotNamed", "warning",
                     std::string(kHca) + " is not set, on hosts that have adapters of storage or management, too");
  one.sure = "likely: without it NCCL takes every adapter with a port that is up; a file or an image may set it";
  one.cost = "rings over these adapters are slower, and disturb storage";
  one.action = fmt::format("{}={}", kHca, found->get().compute_list());
  advice.push_back(std::move(one));
}

bool is_rdma_device(std::string_view name) {
  constexpr std::array<std::string_view, 6> kDrivers{"mlx4_", "mlx5_", "bnxt_re", "irdma", "hfi1_", "rdmap"};
  return std::ranges::any_of(kDrivers, [&](std::string_view driver) { return name.starts_with(driver); });
}

void add_interface(const CheckedEnvironment& checked, std::vector<Advice>& advice, const char* code, const char* what,
                   std::string sure) {
  Advice one = checked.advice(code, "error", checked.setting(kInterface) + " " + what);
  one.sure = std::move(sure);
  one.cost = "ranks do not find each other over it: NCCL fails at its start";
  one.action = "name an IP interface that joins the hosts, as =eth0; or unset it";
  advice.push_back(std::move(one));
}

void check_interface(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  const NcclNames names = read_nccl_names(checked.environment.value(kInterface), false);
  if (names.names.empty() || names.excludes) return;
  const auto all = [&](auto&& is) {
    return std::ranges::all_of(names.names, [&](const NcclName& entry) { return is(entry.name); });
  };
  if (all([](const std::string& name) { return name == "lo" || name.starts_with("docker"); })) {
    return add_interface(checked, advice, "ncclInterfaceLocal", "names an interface that leads to no other host",
                         "certain for jobs of several hosts");
  }
  if (all([](const std::string& name) { return is_rdma_device(name); })) {
    return add_interface(checked, advice, "ncclInterfaceUnknown", "names an RDMA device, and no IP interface",
                         "nearly certain: such names are those of RDMA drivers");
  }
  // Only where cables tell interfaces by name, as LLDP does, and of no pod, which has interfaces of its own.
  if (checked.environment.command.starts_with("kubectl")) return;
  for (const HostAdapters& host : checked.hosts) {
    const bool interfaces = host.named() && std::ranges::none_of(host.ports, [](const AdapterPort& port) {
                              return is_rdma_device(port.device);
                            });
    const bool found = std::ranges::any_of(
        host.ports, [&](const AdapterPort& port) { return names.admits(port.device, port.number); });
    if (!interfaces || found) continue;
    return add_interface(checked, advice, "ncclInterfaceUnknown", "names no interface that is cabled",
                         "likely for " + host.host + ": an interface that LLDP does not tell of may be meant");
  }
}

void check_rails(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  if (checked.environment.value("NCCL_CROSS_NIC") != "1") return;
  const auto railed = std::ranges::find_if(checked.hosts, [](const HostAdapters& host) { return host.on_rails(); });
  if (railed == checked.hosts.end()) return;
  Advice one = checked.advice("ncclCrossesRails", "warning", "NCCL_CROSS_NIC=1 on a fabric of rails");
  one.sure = "certain for " + railed->get().host + ": its adapters are cabled to different leaves";
  one.cost = "rings change from rail to rail and so cross spines, where routes meet; on rails they would not";
  one.action = "unset it (2, the default, keeps to rails where that costs nothing), or 0";
  advice.push_back(std::move(one));
}

}  // namespace

void check_adapters(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  if (!checked.may_span_hosts()) return;
  if (checked.environment.has(kHca)) check_list(checked, advice);
  if (checked.lacks(kHca)) check_missing_list(checked, advice);
  if (checked.environment.has(kInterface)) check_interface(checked, advice);
  check_rails(checked, advice);
}

}  // namespace railweave::cli
