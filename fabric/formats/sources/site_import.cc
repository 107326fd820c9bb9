#include "fabric/formats/sources/site_import.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "fabric/formats/ethernet/lldp.h"
#include "fabric/formats/ethernet/openconfig.h"
#include "fabric/formats/ethernet/sonic_cables.h"
#include "fabric/formats/ethernet/sonic_neighbours.h"
#include "fabric/formats/gpu/attach_gpus.h"
#include "fabric/formats/gpu/gpu_affinity.h"
#include "fabric/formats/gpu/nccl_topology.h"
#include "fabric/formats/gpu/nmx_gpus.h"
#include "fabric/formats/gpu/nvidia_smi_nvlink.h"
#include "fabric/formats/gpu/nvidia_smi_query.h"
#include "fabric/formats/gpu/nvidia_smi_topo.h"
#include "fabric/formats/gpu/nvlink_cliques.h"
#include "fabric/formats/infiniband/ibdiagnet_csv.h"
#include "fabric/formats/infiniband/iblinkinfo.h"
#include "fabric/formats/infiniband/opensm_links.h"
#include "fabric/formats/infiniband/ufm_links.h"
#include "fabric/formats/infiniband/ufm_partitions.h"
#include "fabric/formats/infiniband/ufm_ports.h"
#include "fabric/formats/infiniband/ufm_systems.h"
#include "fabric/formats/kubernetes/node_labels.h"
#include "fabric/formats/kubernetes/topograph_model.h"
#include "fabric/formats/native/native_json.h"
#include "fabric/formats/read_fabric.h"
#include "fabric/formats/site/site_facts.h"
#include "fabric/formats/slurm/slurm_groups.h"
#include "fabric/formats/sources/compare_cables.h"
#include "fabric/formats/sources/nmx_hosts.h"
#include "fabric/formats/sources/ufm_join.h"
#include "fabric/formats/text/name_text.h"
#include "fabric/formats/text/row_left_out.h"
#include "fabric/topology/topology.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {
namespace {

Result<void> passed(Result<std::vector<std::string>> left_out, SiteFacts& facts) {
  if (!left_out) return std::unexpected(std::move(left_out.error()));
  for (const std::string& interface : *left_out) facts.leave_out(interface, "its neighbour has no name or no port");
  return {};
}

// "a.xml is a topology file of NCCL, b.txt is ..."
std::string read_as(const std::vector<SiteSource>& sources) {
  constexpr std::size_t kNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(sources.size(), kNamed); ++i) {
    text += fmt::format("{}{} was read as {}", i == 0 ? "" : ", ", sources[i].name,
                        description(sources[i].recognised.kind));
  }
  return sources.size() > kNamed ? fmt::format("{}, and {} more", text, sources.size() - kNamed) : text;
}

constexpr LinkSpeed kAssumedSpeed = LinkSpeed::ndr;

class SiteReader {
 public:
  explicit SiteReader(const SiteImportOptions& options) : options_(options) {}

  Result<SiteImport> read(const std::vector<SiteSource>& sources) {
    cabled_ = static_cast<std::size_t>(
        std::ranges::count_if(sources, [](const SiteSource& s) { return is_of_cables(s.recognised.kind); }));
    // A list of links without rates is read after dumps that have them, as what is read first counts.
    for (const bool rates : {true, false}) {
      for (const SiteSource& source : sources) {
        if ((source.recognised.kind != SourceKind::ufm_links) != rates) continue;
        facts_.begin_source(source.name);
        if (auto done = read_source(source); !done) return std::unexpected(std::move(done.error()));
      }
    }
    if (!cables_.empty()) {
      if (auto done = std::move(cables_).move_into(options_.subnet, builder_); !done) {
        return std::unexpected(std::move(done.error()));
      }
    }
    if (auto done = add_facts(); !done) return std::unexpected(std::move(done.error()));
    for (const SiteSource& source : sources) {
      if (!is_of_machines(source.recognised.kind)) continue;
      if (auto done = read_machine(source); !done) return std::unexpected(std::move(done.error()));
    }
    if (builder_.host_count() + builder_.switch_count() == 0) {
      const std::string left_out = facts_.first_left_out();
      return fail(ErrorKind::invalid, "site.nothing",
                  "no source has a host or a switch: " + read_as(sources) +
                      (left_out.empty() ? "" : "; not used was " + left_out),
                  {}, "give a dump of cables (ibnetdiscover), or a list of nodes with their groups or GPUs, as well");
    }
    for (const SiteSource& source : sources) add_source(source);
    for (Finding& finding : compared_) builder_.add_finding(std::move(finding));
    return built();
  }

 private:
  static bool is_of_machines(SourceKind kind) {
    return kind == SourceKind::nvidia_smi_topo || kind == SourceKind::nccl_topology ||
           kind == SourceKind::nvlink_cliques || kind == SourceKind::kubernetes_nodes;
  }

  static bool is_of_cables(SourceKind kind) { return kind != SourceKind::unknown && kind <= SourceKind::native; }

  // `speed`: taken for that of links of which no source tells one.
  static Result<void> read_cables(const SiteSource& source, const ReadOptions& read, LinkSpeed speed,
                                  TopologyBuilder& builder) {
    switch (source.recognised.kind) {
      case SourceKind::ibnetdiscover:
        return read_into(source.text, Format::ibnetdiscover, read, builder);
      case SourceKind::ibsim:
        return read_into(source.text, Format::ibsim, read, builder);
      case SourceKind::iblinkinfo:
        return read_iblinkinfo(source.text, read, builder);
      case SourceKind::ibdiagnet_csv:
        return read_ibdiagnet_csv(source.text, read, builder);
      case SourceKind::opensm_links:
        return read_opensm_links(source.text, read, builder);
      case SourceKind::ufm_ports:
        return read_ufm_ports(source.text, read, builder);
      case SourceKind::ufm_links:
        return read_ufm_links(source.text, read, speed, builder);
      default:
        return read_native_json(source.text, read, builder);
    }
  }

  Result<void> read_source(const SiteSource& source) {
    const ReadOptions read{.source = source.name, .subnet = options_.subnet};
    if (!is_of_cables(source.recognised.kind)) return read_facts(source, read);
    if (cabled_ < 2) return read_cables(source, read, kAssumedSpeed, builder_);
    // Several dumps: of several subnets, or of one subnet by several tools. Each is looked at by itself first.
    TopologyBuilder alone;
    if (auto done = read_cables(source, read, LinkSpeed::unknown, alone); !done) return done;
    auto topology = std::move(alone).build();
    if (!topology) return std::unexpected(std::move(topology.error()));
    for (const auto& [name, before] : dumps_) {
      if (!share_a_switch(before, *topology)) continue;
      for (Finding& finding : compare_cables(before, name, *topology, source.name))
        compared_.push_back(std::move(finding));
      return {};
    }
    ReadOptions own = read;
    if (!dumps_.empty()) name_own_subnet(source, own);
    subnet_names_.insert(own.subnet);
    for (const SubnetId subnet : topology->subnets()) subnet_names_.insert(std::string(topology->name(subnet)));
    dumps_.emplace_back(source.name, std::move(*topology));
    return read_cables(source, own, kAssumedSpeed, builder_);
  }

  // A dump that shares no switch with those before is of another subnet, with LIDs of its own: it is called by its file. Native JSON names
  // its subnets by itself.
  void name_own_subnet(const SiteSource& source, ReadOptions& read) {
    if (source.recognised.kind == SourceKind::native) return;
    const std::string plain = escaped_name(source.device.empty() || source.device == "-" ? "subnet" : source.device);
    read.subnet = plain;
    for (unsigned n = 2; subnet_names_.contains(read.subnet); ++n) read.subnet = fmt::format("{}-{}", plain, n);
    builder_.add_finding({"subnetOfItsOwn",
                          Severity::info,
                          fmt::format("{} shares no switch with {}: it is taken for a subnet of its own, {}",
                                      source.name, dumps_.front().first, read.subnet),
                          {read.subnet}});
  }

  Result<void> read_facts(const SiteSource& source, const ReadOptions& read) {
    switch (source.recognised.kind) {
      case SourceKind::lldp:
        return passed(read_lldp(source.text, source.device, read, cables_), facts_);
      case SourceKind::sonic_config:
        return read_sonic_cables(source.text, source.device, read, cables_);
      case SourceKind::sonic_neighbours: {
        const auto left_out = read_sonic_neighbours(source.text, source.device, read, cables_);
        if (!left_out) return std::unexpected(left_out.error());
        leave_out(*left_out);
        return {};
      }
      case SourceKind::openconfig:
        return passed(read_openconfig(source.text, source.device, read, cables_), facts_);
      case SourceKind::slurm_topology:
        return read_slurm_topology(source.text, read, facts_);
      case SourceKind::slurm_topology_yaml:
        return read_slurm_topology_json(source.text, read, facts_);
      case SourceKind::slurm_nodes:
        return read_slurm_nodes(source.text, read, facts_);
      case SourceKind::kubernetes_nodes:
        return read_kubernetes_nodes(source.text, read, facts_);
      case SourceKind::topograph_model:
        return read_topograph_model(source.text, read, facts_);
      case SourceKind::ufm_systems:
        return read_systems(source, read);
      case SourceKind::ufm_partitions:
        return read_partitions(source, read);
      case SourceKind::nmx_gpus:
        return read_nmx(source, read);
      case SourceKind::nvidia_smi_query:
        return read_query(source, read);
      case SourceKind::nvidia_smi_nvlink:
        return read_nvlink_status(source, read);
      default:
        return {};
    }
  }

  Result<void> read_query(const SiteSource& source, const ReadOptions& read) {
    const auto machine = read_nvidia_smi_query(source.text, read);
    if (!machine) return std::unexpected(machine.error());
    facts_.add_gpus(source.device, machine->gpus, machine->product);
    if (machine->differ) facts_.leave_out(source.device, "its GPUs differ in product or clique; the first counts");
    if (!machine->cluster_uuid.empty() && !machine->clique.empty()) {
      facts_.add_domain(source.device, machine->cluster_uuid + "." + machine->clique);
    }
    guids_.push_back({source.device, machine->fabric_guids});
    return {};
  }

  // The rate is that of the GPU with most links: one whose cable is down is found, and the machine no other for it.
  Result<void> read_nvlink_status(const SiteSource& source, const ReadOptions& read) {
    const auto machine = read_nvidia_smi_nvlink(source.text, read);
    if (!machine) return std::unexpected(machine.error());
    const GpuNvlinks best = *std::ranges::max_element(machine->gpus, {}, &GpuNvlinks::rate);
    std::vector<std::string> short_of;
    for (std::size_t g = 0; g < machine->gpus.size(); ++g) {
      const GpuNvlinks& gpu = machine->gpus[g];
      if (gpu.up < best.up) short_of.push_back(fmt::format("GPU {}: {} of {}", g, gpu.up, best.up));
    }
    facts_.add_gpus(source.device, static_cast<unsigned>(machine->gpus.size()), machine->product);
    facts_.add_nvlinks(source.device, best.rate, short_of);
    return {};
  }

  void leave_out(const RowsLeftOut& rows) {
    for (const auto& [where, why] : rows) facts_.leave_out(where, why);
  }

  Result<void> read_systems(const SiteSource& source, const ReadOptions& read) {
    auto systems = read_ufm_systems(source.text, read);
    if (!systems) return std::unexpected(std::move(systems.error()));
    leave_out(systems->left_out);
    systems_.emplace_back(source.name, std::move(systems->systems));
    return {};
  }

  Result<void> read_partitions(const SiteSource& source, const ReadOptions& read) {
    auto partitions = read_ufm_partitions(source.text, read);
    if (!partitions) return std::unexpected(std::move(partitions.error()));
    leave_out(partitions->left_out);
    partitions_.emplace_back(source.name, std::move(partitions->partitions));
    return {};
  }

  Result<void> read_nmx(const SiteSource& source, const ReadOptions& read) {
    auto domain = read_nmx_gpus(source.text, read);
    if (!domain) return std::unexpected(std::move(domain.error()));
    nmx_.push_back({source.name, std::move(*domain)});
    return {};
  }

  Result<void> add_facts() {
    join_nmx_hosts(nmx_, guids_, facts_);
    if (options_.gpus_per_node > 0) facts_.assume_gpus(options_.gpus_per_node, "--gpus-per-node");
    if (auto done = facts_.move_into(builder_); !done) return done;
    if (options_.gpus_per_node == 0 || !wants_gpus()) return {};
    const auto attached = attach_gpus(
        builder_, {.gpus_per_node = options_.gpus_per_node,
                   .nvlink_domain_gpus = options_.nvlink_domain > 0 ? options_.nvlink_domain : options_.gpus_per_node});
    if (!attached) return std::unexpected(attached.error());
    return {};
  }

  [[nodiscard]] bool wants_gpus() const {
    for (std::size_t i = 0; i < builder_.host_count(); ++i) {
      const HostDraft host(i);
      if (builder_.kind(host) == HostKind::compute && builder_.gpu_count(host) == 0) return true;
    }
    return false;
  }

  Result<void> read_machine(const SiteSource& source) {
    const ReadOptions read{.source = source.name, .subnet = options_.subnet};
    const bool nodes = source.recognised.kind == SourceKind::kubernetes_nodes;
    if (nodes && source.text.find("nvidia.com/gpu.clique") == std::string_view::npos) return {};
    if (nodes || source.recognised.kind == SourceKind::nvlink_cliques) {
      NvlinkCliqueOptions cliques;
      cliques.read = read;
      return read_nvlink_cliques(nodes ? std::string_view(source.text) : source.text, cliques, builder_);
    }
    const auto affinity = source.recognised.kind == SourceKind::nccl_topology ? read_nccl_topology(source.text, read)
                                                                              : read_nvidia_smi_topo(source.text, read);
    if (!affinity) return std::unexpected(affinity.error());
    const auto among = options_.hosts ? options_.hosts : [](std::string_view) { return true; };
    if (apply_affinity(*affinity, among, builder_) > 0) return {};
    builder_.add_finding({"affinityNotApplied",
                          Severity::warning,
                          fmt::format("{}: no host has {} GPUs and one of the adapters of this machine; which adapter "
                                      "is near which GPU is not known",
                                      source.name, affinity->nics_of_gpu.size()),
                          {source.name}});
    return {};
  }

  void add_source(const SiteSource& source) {
    if (!tells_of_fabric(source.recognised.kind)) return;
    builder_.add_finding({"readFrom",
                          Severity::info,
                          fmt::format("{} was read as {}: {}{}", source.name, description(source.recognised.kind),
                                      source.recognised.why, source.read_at.empty() ? "" : "; of " + source.read_at),
                          {source.name}});
  }

  Result<SiteImport> built() {
    auto topology = std::move(builder_).build();
    if (!topology) return std::unexpected(std::move(topology.error()));
    SiteImport import{std::make_shared<const Topology>(std::move(*topology))};
    std::vector<Finding> findings = compare_with_cabling(facts_, *import.topology);
    std::vector<HostLabel> labels;
    for (const auto& [name, systems] : systems_) {
      std::ranges::move(compare_with_systems(systems, name, *import.topology), std::back_inserter(findings));
    }
    for (const auto& [name, partitions] : partitions_) {
      JoinedPartitions joined = join_partitions(partitions, name, *import.topology);
      std::ranges::move(joined.findings, std::back_inserter(findings));
      std::ranges::move(joined.labels, std::back_inserter(labels));
    }
    if (findings.empty()) return import;
    // A topology is never changed: the same one is built again with what was found on it.
    TopologyBuilder again;
    if (auto read = read_native_json(write_native_json(*import.topology), {}, again); !read) {
      return std::unexpected(std::move(read.error()));
    }
    for (const Finding& finding : findings) again.add_finding(finding);
    for (const HostLabel& label : labels) {
      again.add_label(again.find_host(import.topology->name(label.host)), label.key, label.value);
    }
    auto rebuilt = std::move(again).build();
    if (!rebuilt) return std::unexpected(std::move(rebuilt.error()));
    return SiteImport{std::make_shared<const Topology>(std::move(*rebuilt))};
  }

  const SiteImportOptions& options_;
  TopologyBuilder builder_;
  SiteFacts facts_;
  EthernetCables cables_;
  std::vector<NmxSource> nmx_;
  std::vector<std::pair<std::string, std::vector<UfmSystem>>> systems_;        // by source
  std::vector<std::pair<std::string, std::vector<UfmPartition>>> partitions_;  // by source
  std::vector<HostGuids> guids_;
  std::size_t cabled_ = 0;                               // sources that tell of cables
  std::vector<std::pair<std::string, Topology>> dumps_;  // those read into the builder, where there are several
  std::set<std::string> subnet_names_;                   // of these
  std::vector<Finding> compared_;
};

}  // namespace

Result<SiteImport> import_site(const std::vector<SiteSource>& sources, const SiteImportOptions& options) {
  return SiteReader(options).read(sources);
}

std::string device_of_file(std::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  static constexpr std::array<std::string_view, 11> kEndings{
      ".json", ".xml", ".txt", ".yaml", ".yml", ".nvlink", ".lldp", ".smi", ".topo", ".config_db", ".nvidia-smi"};
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view ending : kEndings) {
      if (path.size() <= ending.size() || !path.ends_with(ending)) continue;
      path.remove_suffix(ending.size());
      cut = true;
    }
  }
  return std::string(path);
}

}  // namespace railweave::fabric
