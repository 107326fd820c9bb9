// Collects what a reader or generator knows of a fabric, in any order, and builds an immutable Topology from it.
// Contradictions become findings, never a crash, because real dumps contain them. Not thread-safe; builds one Topology.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

// Handles into the builder, valid for it alone; build() orders and renumbers.
using HostDraft = Id<struct HostDraftTag>;
using HcaDraft = Id<struct HcaDraftTag>;
using SwitchDraft = Id<struct SwitchDraftTag>;
using GpuDraft = Id<struct GpuDraftTag>;
using DomainDraft = Id<struct DomainDraftTag>;

// One end of a cable: a switch's or an adapter's port, 1-based as on the label.
struct CableEnd {
  CableEnd(SwitchDraft sw, unsigned port_number) : is_switch(true), device(sw.value()), port(port_number) {}
  CableEnd(HcaDraft hca, unsigned port_number) : is_switch(false), device(hca.value()), port(port_number) {}
  bool is_switch;
  std::uint32_t device;
  unsigned port;
};

struct SwitchSpec {
  Guid guid{};
  std::string_view name{};         // what operators call it; made unique with the GUID where two share it
  std::string_view description{};  // as on the wire; empty: the same as the name
  unsigned ports = 0;              // external ones, without the management port 0
  SubnetId subnet{};
  RackId rack{};
  SiteId site{};
  std::string_view group{};  // dragonfly group or pod
  Lid lid = 0;
  std::uint8_t lmc = 0;
};

struct HcaSpec {
  Guid guid{};
  HcaKind kind = HcaKind::host;
  HostDraft host{};                // none for aggregation nodes and routers
  std::string_view device{};       // "mlx5_0"
  std::string_view description{};  // as on the wire
  unsigned ports = 1;
};

struct HcaPortSpec {
  Guid guid{};
  Lid lid = 0;
  std::uint8_t lmc = 0;
  RailId rail{};  // none: inferred from the cabling if no port of the fabric has one
};

class TopologyBuilder {
 public:
  // Limits on what is accepted, so that no input can exhaust memory; far above any existing fabric.
  static constexpr std::size_t kMaxHosts = 1U << 20U;
  static constexpr std::size_t kMaxSwitches = 1U << 18U;
  static constexpr std::size_t kMaxHcas = 1U << 22U;
  static constexpr std::size_t kMaxGpus = 1U << 22U;
  static constexpr std::size_t kMaxGpusPerHost = 64;  // a host's free GPUs are one 64-bit mask
  static constexpr std::size_t kMaxPortsPerDevice = 1024;
  static constexpr std::size_t kMaxPorts = 1U << 23U;
  static constexpr std::size_t kMaxLabelsPerHost = 256;
  static constexpr std::size_t kMaxNicsPerGpu = 64;
  static constexpr std::size_t kMaxSites = 128;
  static constexpr std::size_t kMaxSiteLinks = 4096;

  // These four get or create by name. A kind given later replaces an unknown one; rails keep their order.
  SubnetId subnet(std::string_view name, SubnetKind kind = SubnetKind::unknown);
  RackId rack(std::string_view name);
  RailId rail(std::string_view name);
  SiteId site(std::string_view name);

  HostDraft host(std::string_view name, HostKind kind = HostKind::compute);  // gets or creates, by name
  [[nodiscard]] HostDraft find_host(std::string_view name) const;
  void set_rack(HostDraft host, RackId rack);
  void set_site(HostDraft host, SiteId site);
  void set_kind(HostDraft host, HostKind kind);
  void add_label(HostDraft host, std::string_view key, std::string_view value);

  SwitchDraft add_switch(const SwitchSpec& spec);
  HcaDraft add_hca(const HcaSpec& spec);
  void set_port(HcaDraft hca, unsigned port, const HcaPortSpec& spec);

  // Gets or creates, by name. A domain without GPUs is left out of the fabric.
  DomainDraft nvlink_domain(std::string_view name, std::string_view cluster_uuid, RateMbps rate_per_gpu);
  GpuDraft add_gpu(HostDraft host);  // its local index is the number of GPUs the host had before
  [[nodiscard]] std::size_t gpu_count(HostDraft host) const;
  [[nodiscard]] GpuDraft gpu(HostDraft host, std::size_t local_index) const;
  void set_nvlink_domain(GpuDraft gpu, DomainDraft domain, std::uint32_t clique = kNoClique);
  // Nearest first, each once. An adapter of another host is left out, with a finding.
  void add_nic(GpuDraft gpu, HcaDraft nic);
  static constexpr std::uint32_t kNoClique = UINT32_MAX;

  // A cable that both ends report.
  void connect(CableEnd a, CableEnd b, const LinkSpec& spec);
  // What one end reports. A cable that only one end reports, or on which the ends differ, becomes a finding.
  void declare_peer(CableEnd from, CableEnd to, const LinkSpec& spec);
  // Between two sites of this builder. A link from a site to itself is left out, with a finding.
  void join_sites(const SiteLink& link);
  void add_finding(Finding finding);

  // What was collected so far, for readers that complete what others read. Drafts count from 0; names are valid until
  // the next name is added.
  [[nodiscard]] std::string_view name(HostDraft host) const { return names_[hosts_[host.index()].name]; }
  [[nodiscard]] HostKind kind(HostDraft host) const { return hosts_[host.index()].kind; }
  [[nodiscard]] HostDraft host_of(HcaDraft hca) const { return hcas_[hca.index()].host; }
  [[nodiscard]] std::string_view device(HcaDraft hca) const { return names_[hcas_[hca.index()].device]; }
  [[nodiscard]] std::size_t nic_count(GpuDraft gpu) const { return gpus_[gpu.index()].nics.size(); }
  [[nodiscard]] DomainDraft nvlink_domain(GpuDraft gpu) const { return gpus_[gpu.index()].domain; }  // none: no NVLink
  [[nodiscard]] std::size_t host_count() const { return hosts_.size(); }
  [[nodiscard]] std::size_t switch_count() const { return switches_.size(); }
  [[nodiscard]] std::size_t hca_count() const { return hcas_.size(); }

  // Errors: a limit is exceeded, or there is neither a switch nor a host. The builder is spent afterwards.
  [[nodiscard]] Result<Topology> build() &&;

 private:
  friend class TopologyLayout;

  struct Host {
    NameRef name;
    HostKind kind;
    RackId rack;
    std::vector<std::uint32_t> gpus;
    std::vector<Topology::Label> labels;
    SiteId site = {};
  };
  struct Switch {
    Guid guid;
    NameRef name, description, group;
    SubnetId subnet;
    RackId rack;
    Lid lid;
    std::uint8_t lmc;
    std::uint32_t first_port, ports;
    SiteId site;
  };
  struct Hca {
    Guid guid;
    HcaKind kind;
    HostDraft host;
    NameRef device, description;
    std::uint32_t first_port, ports;
  };
  struct Gpu {
    HostDraft host;
    DomainDraft domain;
    std::uint32_t clique = kNoClique;
    std::vector<HcaDraft> nics;
  };
  struct Domain {
    NameRef name, cluster_uuid;
    RateMbps rate_per_gpu;
  };
  struct Subnet {
    NameRef name;
    SubnetKind kind;
  };
  struct DraftPort {
    HcaPortSpec hca;
    std::uint32_t peer = UINT32_MAX;  // index in ports_
    LinkSpec link;
  };

  [[nodiscard]] Host& at(HostDraft host);
  [[nodiscard]] Gpu& at(GpuDraft gpu);
  [[nodiscard]] std::uint32_t port_index(CableEnd end);  // UINT32_MAX, with a finding, where there is no such port
  [[nodiscard]] std::string end_text(CableEnd end) const;
  [[nodiscard]] std::string draft_port_text(std::uint32_t port) const;
  std::uint32_t add_ports(unsigned count);
  void refuse(std::string_view limit);  // remembers the first limit that was exceeded

  StringInterner names_;
  std::vector<Host> hosts_;
  std::vector<Switch> switches_;
  std::vector<Hca> hcas_;
  std::vector<Gpu> gpus_;
  std::vector<Domain> domains_;
  std::vector<Subnet> subnets_;
  std::vector<NameRef> racks_, rails_, sites_;
  std::vector<SiteLink> site_links_;
  std::vector<DraftPort> ports_;
  std::vector<std::pair<std::uint32_t, bool>> port_devices_;  // (device, is_switch) of every draft port
  std::unordered_map<NameRef, std::uint32_t> host_by_name_, subnet_by_name_, rack_by_name_, rail_by_name_,
      domain_by_name_, site_by_name_;
  std::vector<Finding> findings_;
  std::string over_limit_;
};

// A fabric without devices: the state before the first import.
Topology empty_topology();

}  // namespace railweave::fabric
