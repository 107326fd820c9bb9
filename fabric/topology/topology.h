// The physical fabric as cabled: hosts, GPUs, adapters, switches, ports, links, racks, rails, subnets, sites and NVLink
// domains. Immutable after TopologyBuilder::build(), so any number of threads may read one; shared by every snapshot.
// What changes (link states, drains, allocations) is kept elsewhere: FabricView, scheduler.
//
// Layout: one column per attribute, indexed by dense ids (ids.h). The ports of a device are consecutive and port number
// n (1-based, as on the label) is ports(device)[n - 1], so (ports, peer) is an adjacency in compressed sparse rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/base/guid.h"
#include "fabric/base/id.h"
#include "fabric/topology/finding.h"
#include "fabric/topology/ids.h"
#include "fabric/topology/link.h"
#include "fabric/topology/site_link.h"
#include "fabric/topology/string_pool.h"

namespace railweave::fabric {

enum class HostKind : std::uint8_t {
  compute,
  storage,
  management,
  unnamed,  // an adapter whose description names no host ("MT4129 ConnectX7 Mellanox Technologies", "localhost")
};
BOOST_DESCRIBE_ENUM(HostKind, compute, storage, management, unnamed)
enum class HcaKind : std::uint8_t { host, aggregation, router };  // aggregation: SHARP node inside a switch; no host
BOOST_DESCRIBE_ENUM(HcaKind, host, aggregation, router)
enum class SubnetKind : std::uint8_t { unknown, compute, storage, management };
BOOST_DESCRIBE_ENUM(SubnetKind, unknown, compute, storage, management)
enum class DeviceKind : std::uint8_t { network_switch, hca, gpu, nvlink_domain };

// Which device a port belongs to; index is that of SwitchId, HcaId, GpuId or NvlinkDomainId.
struct PortOwner {
  DeviceKind kind = DeviceKind::network_switch;
  std::uint32_t index = 0;
  friend bool operator==(PortOwner, PortOwner) = default;
};

class Topology {
 public:
  static constexpr std::uint8_t kNoTier = 255;  // a switch that is connected to no host

  // --- sizes and ranges
  [[nodiscard]] IdRange<HostId> hosts() const { return {0, host_.name.size()}; }
  [[nodiscard]] IdRange<GpuId> gpus() const { return {0, gpu_.host.size()}; }
  [[nodiscard]] IdRange<HcaId> hcas() const { return {0, hca_.guid.size()}; }
  [[nodiscard]] IdRange<SwitchId> switches() const { return {0, switch_.guid.size()}; }
  [[nodiscard]] IdRange<PortId> all_ports() const { return {0, port_.peer.size()}; }
  [[nodiscard]] IdRange<LinkId> links() const { return {0, link_.a.size()}; }
  [[nodiscard]] IdRange<RackId> racks() const { return {0, rack_name_.size()}; }
  [[nodiscard]] IdRange<RailId> rails() const { return {0, rail_name_.size()}; }
  [[nodiscard]] IdRange<SubnetId> subnets() const { return {0, subnet_name_.size()}; }
  [[nodiscard]] IdRange<NvlinkDomainId> nvlink_domains() const { return {0, domain_.name.size()}; }
  [[nodiscard]] IdRange<CliqueId> cliques() const { return {0, clique_.domain.size()}; }
  [[nodiscard]] IdRange<SiteId> sites() const { return {0, site_name_.size()}; }

  // --- hosts
  [[nodiscard]] std::string_view name(HostId host) const { return names_[host_.name[host.index()]]; }
  [[nodiscard]] HostKind kind(HostId host) const { return host_.kind[host.index()]; }
  [[nodiscard]] RackId rack(HostId host) const { return host_.rack[host.index()]; }
  [[nodiscard]] SiteId site(HostId host) const { return host_.site[host.index()]; }  // none: not known
  [[nodiscard]] IdRange<HcaId> hcas(HostId host) const {
    return {host_.first_hca[host.index()], host_.first_hca[host.index() + 1]};
  }
  [[nodiscard]] IdRange<GpuId> gpus(HostId host) const {
    return {host_.first_gpu[host.index()], host_.first_gpu[host.index() + 1]};
  }
  struct Label {
    NameRef key;
    NameRef value;
  };
  [[nodiscard]] std::span<const Label> labels(HostId host) const {
    return std::span(host_.labels)
        .subspan(host_.first_label[host.index()],
                 host_.first_label[host.index() + 1] - host_.first_label[host.index()]);
  }
  [[nodiscard]] std::string_view text(NameRef ref) const { return names_[ref]; }

  // --- GPUs
  [[nodiscard]] HostId host(GpuId gpu) const { return gpu_.host[gpu.index()]; }
  [[nodiscard]] unsigned local_index(GpuId gpu) const {
    return static_cast<unsigned>(gpu.index() - host_.first_gpu[gpu_.host[gpu.index()].index()]);
  }
  [[nodiscard]] NvlinkDomainId nvlink_domain(GpuId gpu) const { return gpu_.domain[gpu.index()]; }  // none: no NVLink
  [[nodiscard]] CliqueId clique(GpuId gpu) const { return gpu_.clique[gpu.index()]; }               // none: not known
  // The adapters nearest to the GPU by PCIe affinity (same PCIe switch, else same NUMA node), nearest first.
  [[nodiscard]] std::span<const HcaId> nics(GpuId gpu) const {
    return std::span(gpu_.nics).subspan(gpu_.first_nic[gpu.index()],
                                        gpu_.first_nic[gpu.index() + 1] - gpu_.first_nic[gpu.index()]);
  }
  [[nodiscard]] IdRange<PortId> ports(GpuId gpu) const {  // its NVLink port; empty without NVLink
    return {gpu_.first_port[gpu.index()], gpu_.first_port[gpu.index() + 1]};
  }

  // --- adapters
  [[nodiscard]] Guid guid(HcaId hca) const { return hca_.guid[hca.index()]; }
  [[nodiscard]] HcaKind kind(HcaId hca) const { return hca_.kind[hca.index()]; }
  [[nodiscard]] HostId host(HcaId hca) const { return hca_.host[hca.index()]; }  // none: aggregation node, router
  [[nodiscard]] std::string_view device(HcaId hca) const { return names_[hca_.device[hca.index()]]; }  // "mlx5_0"
  [[nodiscard]] std::string_view description(HcaId hca) const { return names_[hca_.description[hca.index()]]; }
  [[nodiscard]] IdRange<PortId> ports(HcaId hca) const {
    return {hca_.first_port[hca.index()], hca_.first_port[hca.index() + 1]};
  }

  // --- switches
  [[nodiscard]] Guid guid(SwitchId sw) const { return switch_.guid[sw.index()]; }
  [[nodiscard]] std::string_view name(SwitchId sw) const { return names_[switch_.name[sw.index()]]; }
  [[nodiscard]] std::string_view description(SwitchId sw) const { return names_[switch_.description[sw.index()]]; }
  [[nodiscard]] SubnetId subnet(SwitchId sw) const { return switch_.subnet[sw.index()]; }
  [[nodiscard]] RackId rack(SwitchId sw) const { return switch_.rack[sw.index()]; }
  [[nodiscard]] SiteId site(SwitchId sw) const { return switch_.site[sw.index()]; }  // none: not known
  [[nodiscard]] std::string_view group(SwitchId sw) const {  // dragonfly group or pod, where it is known; else ""
    return names_[switch_.group[sw.index()]];
  }
  [[nodiscard]] Lid lid(SwitchId sw) const { return switch_.lid[sw.index()]; }
  [[nodiscard]] std::uint8_t lmc(SwitchId sw) const { return switch_.lmc[sw.index()]; }
  // Number of links to the nearest switch with host ports, 0 on such a switch; kNoTier: none is connected.
  [[nodiscard]] std::uint8_t tier(SwitchId sw) const { return switch_.tier[sw.index()]; }
  [[nodiscard]] bool is_leaf(SwitchId sw) const { return tier(sw) == 0; }
  [[nodiscard]] IdRange<PortId> ports(SwitchId sw) const {
    return {switch_.first_port[sw.index()], switch_.first_port[sw.index() + 1]};
  }
  [[nodiscard]] unsigned tier_count() const;  // of the switches that have a tier

  // --- ports
  [[nodiscard]] PortOwner owner(PortId port) const;
  [[nodiscard]] unsigned number(PortId port) const;                                  // 1-based, as on the label
  [[nodiscard]] PortId peer(PortId port) const { return port_.peer[port.index()]; }  // none: no cable
  [[nodiscard]] LinkId link(PortId port) const { return port_.link[port.index()]; }
  [[nodiscard]] bool is_switch_port(PortId port) const { return port.index() < hca_ports_begin(); }
  [[nodiscard]] bool is_hca_port(PortId port) const {
    return port.index() >= hca_ports_begin() && port.index() < gpu_ports_begin();
  }
  [[nodiscard]] SwitchId switch_of(PortId port) const {  // none: not a switch port
    return is_switch_port(port) ? SwitchId(port_.owner[port.index()]) : SwitchId();
  }
  [[nodiscard]] HcaId hca_of(PortId port) const {  // none: not an adapter's port
    return is_hca_port(port) ? HcaId(port_.owner[port.index()]) : HcaId();
  }
  // Of adapter ports only:
  [[nodiscard]] Guid port_guid(PortId port) const { return hca_port_.guid[port.index() - hca_ports_begin()]; }
  [[nodiscard]] Lid lid(PortId port) const { return hca_port_.lid[port.index() - hca_ports_begin()]; }
  [[nodiscard]] std::uint8_t lmc(PortId port) const { return hca_port_.lmc[port.index() - hca_ports_begin()]; }
  [[nodiscard]] RailId rail(PortId port) const { return hca_port_.rail[port.index() - hca_ports_begin()]; }
  [[nodiscard]] SubnetId subnet(PortId port) const;  // of adapter and switch ports; none where it has no cable
  [[nodiscard]] IdRange<PortId> hca_ports() const { return {hca_ports_begin(), gpu_ports_begin()}; }
  [[nodiscard]] IdRange<PortId> switch_ports() const { return {0, hca_ports_begin()}; }

  // --- links; a() is the port with the smaller id
  [[nodiscard]] PortId a(LinkId link) const { return link_.a[link.index()]; }
  [[nodiscard]] PortId b(LinkId link) const { return link_.b[link.index()]; }
  [[nodiscard]] LinkSpec spec(LinkId link) const;
  [[nodiscard]] LinkKind kind(LinkId link) const { return link_.kind[link.index()]; }
  [[nodiscard]] RateMbps rate(LinkId link) const { return RateMbps(link_.rate_mbps[link.index()]); }
  [[nodiscard]] bool joins_switches(LinkId link) const { return is_switch_port(a(link)) && is_switch_port(b(link)); }

  // --- racks, rails, subnets, NVLink domains
  [[nodiscard]] std::string_view name(RackId rack) const { return names_[rack_name_[rack.index()]]; }
  [[nodiscard]] std::string_view name(RailId rail) const { return names_[rail_name_[rail.index()]]; }
  [[nodiscard]] bool rails_inferred() const { return rails_inferred_; }  // else named by the source, or there are none
  // 0 to 1: see rails.h; 1 when named by the source, 0 without rails.
  [[nodiscard]] double rail_confidence() const { return rail_confidence_; }
  [[nodiscard]] std::string_view name(SubnetId subnet) const { return names_[subnet_name_[subnet.index()]]; }
  [[nodiscard]] SubnetKind kind(SubnetId subnet) const { return subnet_kind_[subnet.index()]; }
  [[nodiscard]] std::string_view name(NvlinkDomainId domain) const { return names_[domain_.name[domain.index()]]; }
  [[nodiscard]] std::string_view cluster_uuid(NvlinkDomainId domain) const {
    return names_[domain_.cluster_uuid[domain.index()]];
  }
  [[nodiscard]] RateMbps rate_per_gpu(NvlinkDomainId domain) const {  // one direction, into the domain
    return RateMbps(domain_.rate_mbps[domain.index()]);
  }
  [[nodiscard]] std::span<const GpuId> gpus(NvlinkDomainId domain) const {
    return std::span(domain_.gpus)
        .subspan(domain_.first_gpu[domain.index()],
                 domain_.first_gpu[domain.index() + 1] - domain_.first_gpu[domain.index()]);
  }
  [[nodiscard]] IdRange<PortId> ports(NvlinkDomainId domain) const {
    return {domain_.first_port[domain.index()], domain_.first_port[domain.index() + 1]};
  }
  [[nodiscard]] NvlinkDomainId domain(CliqueId clique) const { return clique_.domain[clique.index()]; }
  [[nodiscard]] std::uint32_t number(CliqueId clique) const { return clique_.number[clique.index()]; }

  // --- sites, in natural order of names, and the long-haul links between them, in order of sites
  [[nodiscard]] std::string_view name(SiteId site) const { return names_[site_name_[site.index()]]; }
  [[nodiscard]] std::span<const SiteLink> site_links() const { return site_links_; }

  // --- lookups: O(log n)
  [[nodiscard]] HostId find_host(std::string_view name) const;
  [[nodiscard]] SwitchId find_switch(std::string_view name) const;  // the name or the GUID, 0x allowed
  [[nodiscard]] HcaId find_hca(Guid guid) const;                    // node GUID or port GUID
  [[nodiscard]] SwitchId find_switch(Guid guid) const;
  [[nodiscard]] PortId find_port(std::string_view text) const;  // "<guid>/<port>", see port_text()
  [[nodiscard]] LinkId find_link(std::string_view text) const;  // "<port>--<port>", in either order

  // "<guid>/<port>" for switches and adapters, "<host>/gpu<i>" for a GPU's NVLink port, "<domain>/<port>" for a
  // domain's. Where the GUID is not known or another device has it: "<switch>/<port>", "<host>/<device>/<port>" or,
  // where the device has no name of its own either, "<host>/#<n>/<port>" for the host's n-th adapter from 0.
  // find_port() reads all of these.
  [[nodiscard]] std::string port_text(PortId port) const;
  // "<port>--<port>", the smaller text first.
  [[nodiscard]] std::string link_text(LinkId link) const;

  // What reading and building found: input that was skipped, guessed or contradictory. checks.h adds findings about the
  // fabric itself.
  [[nodiscard]] const std::vector<Finding>& source_findings() const { return source_findings_; }

  [[nodiscard]] std::size_t memory_bytes() const;  // of all columns

 private:
  friend class TopologyLayout;
  [[nodiscard]] std::size_t hca_ports_begin() const { return switch_.first_port.back(); }
  [[nodiscard]] std::size_t gpu_ports_begin() const { return hca_.first_port.back(); }
  [[nodiscard]] std::size_t domain_ports_begin() const { return gpu_.first_port.back(); }
  [[nodiscard]] std::string device_text(SwitchId sw) const;
  [[nodiscard]] std::string device_text(HcaId hca) const;
  [[nodiscard]] HcaId find_host_hca(std::string_view text) const;  // "<host>/<device>", "<host>/#<n>"
  [[nodiscard]] NvlinkDomainId find_domain(std::string_view name) const;

  using Offsets = std::vector<std::uint32_t>;  // n + 1 entries

  // The columns of each kind of device or link, indexed by its ids.
  struct HostColumns {
    std::vector<NameRef> name;
    std::vector<HostKind> kind;
    std::vector<RackId> rack;
    std::vector<SiteId> site;
    Offsets first_hca, first_gpu, first_label;
    std::vector<Label> labels;
  };
  struct GpuColumns {
    std::vector<HostId> host;
    std::vector<NvlinkDomainId> domain;
    std::vector<CliqueId> clique;
    Offsets first_nic, first_port;
    std::vector<HcaId> nics;
  };
  struct HcaColumns {
    std::vector<Guid> guid;
    std::vector<HcaKind> kind;
    std::vector<HostId> host;
    std::vector<NameRef> device, description;
    Offsets first_port;
  };
  struct SwitchColumns {
    std::vector<Guid> guid;
    std::vector<NameRef> name, description, group;
    std::vector<SubnetId> subnet;
    std::vector<RackId> rack;
    std::vector<SiteId> site;
    std::vector<Lid> lid;
    std::vector<std::uint8_t> lmc, tier;
    Offsets first_port;
  };
  struct PortColumns {
    std::vector<std::uint32_t> owner;
    std::vector<PortId> peer;
    std::vector<LinkId> link;
  };
  struct HcaPortColumns {  // indexed by the position among adapter ports
    std::vector<Guid> guid;
    std::vector<Lid> lid;
    std::vector<std::uint8_t> lmc;
    std::vector<RailId> rail;
  };
  struct LinkColumns {
    std::vector<PortId> a, b;
    std::vector<LinkKind> kind;
    std::vector<LinkSpeed> speed;
    std::vector<std::uint16_t> width;
    std::vector<std::uint32_t> rate_mbps;
    std::vector<float> cable_length_m;
  };
  struct DomainColumns {
    std::vector<NameRef> name, cluster_uuid;
    std::vector<std::uint32_t> rate_mbps;
    Offsets first_gpu, first_port;
    std::vector<GpuId> gpus;
  };
  struct CliqueColumns {
    std::vector<NvlinkDomainId> domain;
    std::vector<std::uint32_t> number;
  };

  StringPool names_;
  HostColumns host_;
  GpuColumns gpu_;
  HcaColumns hca_;
  SwitchColumns switch_;
  PortColumns port_;
  HcaPortColumns hca_port_;
  LinkColumns link_;
  DomainColumns domain_;
  CliqueColumns clique_;
  std::vector<NameRef> rack_name_, rail_name_, subnet_name_, site_name_;
  std::vector<SubnetKind> subnet_kind_;
  std::vector<SiteLink> site_links_;
  bool rails_inferred_ = false;
  double rail_confidence_ = 1;

  std::vector<HostId> hosts_by_name_;                 // sorted by bytes of the name
  std::vector<SwitchId> switches_by_name_;            // sorted by bytes of the name
  std::vector<std::pair<Guid, HcaId>> hcas_by_guid_;  // node and port GUIDs, sorted
  std::vector<Finding> source_findings_;
};

using TopologyPtr = std::shared_ptr<const Topology>;

}  // namespace railweave::fabric
