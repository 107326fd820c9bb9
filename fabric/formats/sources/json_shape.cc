#include "fabric/formats/sources/json_shape.h"

#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/formats/infiniband/ufm_partitions.h"
#include "fabric/formats/text/json_reader.h"
#include "fabric/formats/text/name_text.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kMaxFields = 64;

// Fields of the document, and of the first element of its list of that name ("items/kind").
struct JsonShape {
  std::set<std::string, std::less<>> fields;
  std::string first;                       // the first field
  std::string kind, item_kind, railweave;  // their texts
  bool is_list = false;
  bool has_neighbours = false;  // keys of SONiC's LLDP table, wherever they are in a large database

  [[nodiscard]] bool has(std::string_view field) const { return fields.contains(field); }
  void add(const std::string& field) {
    if (first.empty()) first = field;
    if (fields.size() < kMaxFields * kMaxFields) fields.insert(field);
  }
};

class ShapeReader {
 public:
  explicit ShapeReader(std::string_view text) : json_(text, "") {}

  JsonShape read() {
    if (json_.peek() == '[') {
      shape_.is_list = true;
      (void)read_list("");
    } else {
      (void)json_.entries([&](std::string_view key) { return read_field(std::string(key)); });
    }
    return std::move(shape_);
  }

 private:
  bool read_field(const std::string& name) {
    shape_.add(name);
    if (name.starts_with("LLDP_ENTRY_TABLE")) shape_.has_neighbours = true;
    if (json_.peek() == '"' && name == "kind") return json_.string(shape_.kind);
    if (json_.peek() == '"' && name == "railweave") return json_.string(shape_.railweave);
    if (json_.peek() == '[') return read_list(name + "/");
    if (json_.peek() != '{') return json_.skip_value();
    std::size_t count = 0;
    return json_.entries([&](std::string_view key) {
      if (++count <= kMaxFields) shape_.add(fmt::format("{}.{}", name, key));
      return json_.skip_value();
    });
  }

  bool read_list(const std::string& prefix) {
    bool first = true;
    return json_.array([&] {
      if (!std::exchange(first, false) || json_.peek() != '{') return json_.skip_value();
      return json_.entries([&](std::string_view key) {
        const bool kind = key == "kind" && prefix == "items/";
        shape_.add(prefix + std::string(key));
        return kind && json_.peek() == '"' ? json_.string(shape_.item_kind) : json_.skip_value();
      });
    });
  }

  JsonReader json_;
  JsonShape shape_;
};

Recognised of_kubernetes(const JsonShape& shape) {
  const std::string& kind = shape.has("items") && shape.kind == "List" ? shape.item_kind : shape.kind;
  if (kind == "Node" || kind == "NodeList") return {SourceKind::kubernetes_nodes, "it is a list of kind Node"};
  if (kind == "Pod" || kind == "PodList") return {SourceKind::kubernetes_pods, "it is a list of kind Pod"};
  // What kubectl prints where there is none: of nodes there always are some.
  const bool empty = shape.kind == "List" && shape.has("items") && shape.item_kind.empty();
  if (empty) return {SourceKind::kubernetes_pods, "it is a list of kubectl without any item"};
  return {SourceKind::unknown,
          "it is JSON of Kubernetes, of kind '" + escaped_name(shape.kind) + "' and not of nodes or pods"};
}

// Lists of UFM's REST answers; unknown, without a reason: none of them.
Recognised of_ufm_list(const JsonShape& shape) {
  if (shape.has("peer_port_dname")) return {SourceKind::ufm_ports, "its ports have \"peer_port_dname\""};
  if (shape.has("peer") && shape.has("system_name") && shape.has("physical_state")) {
    return {SourceKind::ufm_ports, "its ports have \"peer\" and \"physical_state\""};
  }
  if (shape.has("source_guid") && shape.has("destination_guid")) {
    return {SourceKind::ufm_links, "its links have \"source_guid\" and \"destination_guid\""};
  }
  if (shape.has("system_name") && (shape.has("system_guid") || shape.has("modules") || shape.has("ports"))) {
    return {SourceKind::ufm_systems, "its systems have \"system_name\""};
  }
  return {};
}

// Partitions by their keys.
bool tells_ufm_partitions(const JsonShape& shape) {
  const bool fields = shape.has(shape.first + ".ip_over_ib") || shape.has(shape.first + ".guids");
  return fields && parse_pkey(shape.first).has_value();
}

bool tells_openconfig(const JsonShape& shape, std::string_view text) {
  const bool dump = shape.has("updates") || shape.first.starts_with("openconfig-");
  return dump && text.find("openconfig-") != std::string_view::npos;
}

// Answers of NMX-C. Its topology is known by no public document; which GPUs are in the domain is in their list.
Recognised of_nmx(const JsonShape& shape) {
  if (shape.has("gpuInfoList") || shape.has("gpu_info_list")) return {SourceKind::nmx_gpus, "it has a list of GPUs"};
  return {SourceKind::unknown,
          "it is an answer of NMX-C without a list of GPUs: give that to GetGpuInfoList, which tells their trays and "
          "partitions"};
}

Recognised of_slurm_jobs(const JsonShape& shape) {
  if (shape.has("jobs/association") || shape.has("jobs/steps")) {
    return {SourceKind::slurm_accounting, "its \"jobs\" have an association"};
  }
  return {SourceKind::slurm_jobs, "it has \"jobs\" with job_id"};
}

// What Slurm prints where there is no job: it is Slurm's by its "meta", which names the command in newer releases.
bool is_of_slurm(const JsonShape& shape) {
  return shape.has("meta.plugin") || shape.has("meta.slurm") || shape.has("meta.Slurm");
}

Recognised of_nodes(const JsonShape& shape, std::string_view text) {
  for (const std::string_view field : {"nodes/gres", "nodes/slurmd_start_time", "nodes/boot_time"}) {
    if (shape.has(field)) return {SourceKind::slurm_nodes, fmt::format("its \"nodes\" have \"{}\"", field.substr(6))};
  }
  if (is_of_slurm(shape)) return {SourceKind::slurm_nodes, "it has \"nodes\" and Slurm's \"meta\""};
  const bool cliques = shape.has("nodes/clusterUuid") || shape.has("nodes/cliqueId") ||
                       text.find("nvidia.com/gpu.clique") != std::string_view::npos || shape.has("nodes/labels");
  if (cliques) return {SourceKind::nvlink_cliques, "its \"nodes\" have cliques or labels"};
  return {SourceKind::unknown, "it is JSON with \"nodes\" of no tool that is known"};
}

}  // namespace

Recognised recognise_json(std::string_view text) {
  const JsonShape shape = ShapeReader(text).read();
  if (tells_openconfig(shape, text)) return {SourceKind::openconfig, "it has modules of OpenConfig"};
  if (shape.is_list) {
    if (Recognised ufm = of_ufm_list(shape); ufm.kind != SourceKind::unknown) return ufm;
    if (shape.has("tree") || shape.has("block") || shape.has("topology")) {
      return {SourceKind::slurm_topology_yaml, "it is a list of topologies"};
    }
    return {SourceKind::unknown, "it is a list of no tool that is known"};
  }
  if (tells_ufm_partitions(shape)) return {SourceKind::ufm_partitions, "its first field is the key of a partition"};
  if (shape.railweave == "fabric") return {SourceKind::native, "it has \"railweave\": \"fabric\""};
  if (shape.has("apiVersion") || shape.has("items")) return of_kubernetes(shape);
  for (const std::string_view field : {"serverHeader", "server_header", "gpuInfoList", "gpu_info_list"}) {
    if (shape.has(field)) return of_nmx(shape);
  }
  if (shape.has("lldp")) return {SourceKind::lldp, "it has \"lldp\""};
  if (shape.has_neighbours) return {SourceKind::sonic_neighbours, "it has rows of LLDP_ENTRY_TABLE"};
  if (shape.has("PORT") && (shape.has("DEVICE_METADATA") || shape.has("DEVICE_NEIGHBOR"))) {
    return {SourceKind::sonic_config, "it has the table PORT"};
  }
  if (shape.has("jobs/job_id")) return of_slurm_jobs(shape);
  if (shape.has("jobs") && is_of_slurm(shape)) {
    const bool past = text.find("\"sacct\"") != std::string_view::npos;
    return {past ? SourceKind::slurm_accounting : SourceKind::slurm_jobs, "it has Slurm's \"meta\", and no job"};
  }
  const bool nested = shape.has("switches") || shape.has("capacity_blocks") || shape.has("blocks");
  if (nested && !shape.has("meta")) return {SourceKind::topograph_model, "it has \"switches\" or \"blocks\""};
  if (shape.has("nodes")) return of_nodes(shape, text);
  if (shape.first.empty()) return {SourceKind::unknown, "it is JSON without a field"};
  return {SourceKind::unknown,
          "it is JSON that begins with \"" + escaped_name(shape.first.substr(0, 60)) + "\", of no tool that is known"};
}

}  // namespace railweave::fabric
