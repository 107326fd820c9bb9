#include "fabric/formats/sources/source_kind.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/byte_order_mark.h"
#include "fabric/base/lower_case.h"
#include "fabric/formats/format.h"
#include "fabric/formats/gpu/nvidia_smi_nvlink.h"
#include "fabric/formats/infiniband/iblinkinfo.h"
#include "fabric/formats/infiniband/opensm_links.h"
#include "fabric/formats/infiniband/other_forms.h"
#include "fabric/formats/sources/json_shape.h"
#include "fabric/formats/sources/text_hints.h"
#include "fabric/formats/text/name_text.h"
#include "fabric/formats/text/text_lines.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kLinesLookedAt = 200;
constexpr std::size_t kShownBytes = 60;

constexpr std::array<std::pair<SourceKind, std::string_view>, 32> kDescriptions{{
    {SourceKind::ibnetdiscover, "output of ibnetdiscover"},
    {SourceKind::ibsim, "an ibsim netlist"},
    {SourceKind::iblinkinfo, "output of iblinkinfo"},
    {SourceKind::ibdiagnet_csv, "ibdiagnet2.db_csv"},
    {SourceKind::opensm_links, "opensm-subnet.lst or ibdiagnet.lst"},
    {SourceKind::ufm_ports, "UFM's list of ports (GET /ufmRest/resources/ports)"},
    {SourceKind::ufm_links, "UFM's list of links (GET /ufmRest/resources/links)"},
    {SourceKind::native, "Railweave's native JSON"},
    {SourceKind::lldp, "output of lldpctl -f json"},
    {SourceKind::sonic_config, "config_db.json of a SONiC switch"},
    {SourceKind::sonic_neighbours, "SONiC's LLDP tables (sonic-db-dump -n APPL_DB -y)"},
    {SourceKind::openconfig, "a dump of OpenConfig by gNMI (JSON_IETF)"},
    {SourceKind::slurm_topology, "Slurm's topology.conf"},
    {SourceKind::slurm_topology_yaml, "Slurm's topology.yaml"},
    {SourceKind::slurm_nodes, "output of scontrol show nodes --json"},
    {SourceKind::kubernetes_nodes, "output of kubectl get nodes -o json"},
    {SourceKind::topograph_model, "a model of Topograph"},
    {SourceKind::ufm_systems, "UFM's list of systems (GET /ufmRest/resources/systems)"},
    {SourceKind::ufm_partitions, "UFM's partitions (GET /ufmRest/resources/pkeys?guids_data=true)"},
    {SourceKind::nmx_gpus, "an NMX controller's list of GPUs (GetGpuInfoList)"},
    {SourceKind::nvidia_smi_query, "output of nvidia-smi -q -x"},
    {SourceKind::nvidia_smi_nvlink, "output of nvidia-smi nvlink -s"},
    {SourceKind::nvidia_smi_topo, "output of nvidia-smi topo -m"},
    {SourceKind::nccl_topology, "a topology file of NCCL"},
    {SourceKind::nvlink_cliques, "a list of NVLink cliques"},
    {SourceKind::opensm_tables, "opensm.fdbs or opensm-lfts.dump"},
    {SourceKind::opensm_levels, "opensm-path-records.dump, or path records of saquery"},
    {SourceKind::opensm_lane_maps, "opensm-sl2vl.dump"},
    {SourceKind::slurm_jobs, "output of squeue --json"},
    {SourceKind::slurm_accounting, "output of sacct -P or sacct --json"},
    {SourceKind::kubernetes_pods, "output of kubectl get pods -o json"},
    {SourceKind::job_environment, "an environment with variables of NCCL (env, nccl.conf)"},
}};

SourceKind kind_of_format(Format format) {
  switch (format) {
    case Format::ibnetdiscover:
      return SourceKind::ibnetdiscover;
    case Format::ibsim:
      return SourceKind::ibsim;
    case Format::native:
      return SourceKind::native;
    case Format::nccl_topology:
      return SourceKind::nccl_topology;
    case Format::nvidia_smi_topo:
      return SourceKind::nvidia_smi_topo;
    case Format::nvlink_cliques:
      return SourceKind::nvlink_cliques;
    case Format::unknown:
      break;
  }
  return SourceKind::unknown;
}

std::string shown_line(std::size_t number, std::string_view line) {
  return fmt::format("line {} is '{}{}'", number, escaped_name(line.substr(0, kShownBytes)),
                     line.size() > kShownBytes ? "..." : "");
}

// What no reader reads, by its first bytes; "" where it is none of them.
std::string packed_form(std::string_view text) {
  struct Packed {
    std::string_view bytes, what;
  };
  constexpr std::string_view kZip("PK\x03\x04", 4), kUtf16("\xff\xfe", 2), kUtf16Swapped("\xfe\xff", 2);
  for (const auto& [bytes, what] :
       {Packed{"\x1f\x8b", "it is compressed: unpack it first (gzip -d)"},
        {"\xfd"
         "7zXZ",
         "it is compressed: unpack it first (xz -d)"},
        {"\x28\xb5\x2f\xfd", "it is compressed: unpack it first (zstd -d)"},
        {"BZh", "it is compressed: unpack it first (bzip2 -d)"},
        {kZip, "it is an archive: unpack it first (unzip)"},
        {kUtf16, "it is text in UTF-16: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"},
        {kUtf16Swapped, "it is text in UTF-16: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"}}) {
    if (text.starts_with(bytes)) return std::string(what);
  }
  constexpr std::size_t kTarMagic = 257;
  if (text.size() > kTarMagic && text.substr(kTarMagic).starts_with("ustar")) {
    return "it is an archive: unpack it first (tar -x), and give its files or the folder";
  }
  return {};
}

bool is_variable(std::string_view text) {
  for (const std::string_view word : {"export ", "declare -x "}) {
    if (text.starts_with(word)) return text.substr(word.size()).starts_with("NCCL_");
  }
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = text.substr(0, equals);
  return name.starts_with("NCCL_") || name.starts_with("SLURM_") || name == "PATH" || name == "LD_LIBRARY_PATH" ||
         name == "HOSTNAME";
}

// A line of `env`, of nccl.conf or of a script that sets variables of NCCL, or all of /proc/PID/environ.
bool is_environment_line(std::string_view line) {
  while (!line.empty()) {
    const auto end = std::min(line.find('\0'), line.size());
    if (is_variable(line.substr(0, end))) return true;
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return false;
}

SourceKind kind_of_line(std::string_view line) {
  if (line.starts_with("START_NODES") || line.starts_with("START_LINKS") || line.starts_with("START_PORTS")) {
    return SourceKind::ibdiagnet_csv;
  }
  if (is_opensm_link_line(line)) return SourceKind::opensm_links;
  if (line.starts_with("dump_ucast_routes:") || line.starts_with("Unicast lids [")) return SourceKind::opensm_tables;
  if (line.starts_with("PathRecord dump:")) return SourceKind::opensm_levels;
  if (line.starts_with("SwitchName=") || line.starts_with("BlockName=")) return SourceKind::slurm_topology;
  if (is_iblinkinfo_line(line)) return SourceKind::iblinkinfo;
  if (line.find('|') != std::string_view::npos &&
      (line.starts_with("JobID|") || line.find("|JobID") != std::string_view::npos)) {
    return SourceKind::slurm_accounting;
  }
  if (is_nvlink_status_line(line)) return SourceKind::nvidia_smi_nvlink;
  if (is_environment_line(line)) return SourceKind::job_environment;
  return SourceKind::unknown;
}

Recognised recognise_lines(std::string_view text) {
  LineReader lines(text);
  std::size_t looked_at = 0;
  std::string_view first;
  std::string_view hinted;  // the first line that tells a tool
  std::size_t first_number = 0;
  for (std::string_view line; looked_at < kLinesLookedAt && lines.next(line);) {
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) continue;
    if (line[begin] == '#') {  // titles of columns, in two of OpenSM's dumps
      if (line.starts_with("# LID  : SL :")) return {SourceKind::opensm_levels, shown_line(lines.number(), line)};
      if (line.starts_with("#in out :")) return {SourceKind::opensm_lane_maps, shown_line(lines.number(), line)};
      continue;
    }
    ++looked_at;
    line.remove_prefix(begin);
    if (first.empty()) {
      first = line;
      first_number = lines.number();
    }
    if (hinted.empty() && !hint_of_line(line).empty()) hinted = line;
    if (const SourceKind kind = kind_of_line(line); kind != SourceKind::unknown) {
      return {kind, shown_line(lines.number(), line)};
    }
  }
  const std::string other = describe_other_form(text);
  const SourceKind kind = other.empty() ? kind_of_format(detect_format(text)) : SourceKind::unknown;
  if (kind != SourceKind::unknown) return {kind, shown_line(first_number, first)};
  if (const std::string_view hint = hint_of_line(hinted); !hint.empty()) return {kind, std::string(hint)};
  return {kind, !other.empty() ? other : first.empty() ? "it is empty" : shown_line(first_number, first)};
}

}  // namespace

std::string_view to_string(SourceKind kind) { return to_text(kind); }

std::string_view description(SourceKind kind) {
  for (const auto& [known, text] : kDescriptions) {
    if (known == kind) return text;
  }
  return "unknown";
}

bool tells_of_fabric(SourceKind kind) { return kind != SourceKind::unknown && kind < SourceKind::opensm_tables; }

std::string readable_sources() {
  std::string text;
  for (const auto& [kind, shown] : kDescriptions) text += (text.empty() ? "  " : "\n  ") + std::string(shown);
  return text;
}

Recognised recognise(std::string_view text) {
  text = without_byte_order_mark(text);
  if (std::string packed = packed_form(text); !packed.empty()) return {SourceKind::unknown, std::move(packed)};
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {SourceKind::unknown, "it is empty"};
  const std::string_view first = text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
  const bool json = (text[begin] == '{' || text[begin] == '[') && !is_opensm_link_line(first);
  if (json) return recognise_json(text.substr(begin));
  if (text[begin] == '<') {
    const std::string_view head = text.substr(begin, 4096);
    if (head.find("<nvidia_smi_log") != std::string_view::npos) {
      return {SourceKind::nvidia_smi_query, "it begins with <nvidia_smi_log>"};
    }
    if (head.find("<system") != std::string_view::npos) return {SourceKind::nccl_topology, "it begins with <system>"};
    const std::string start = lower_case(head.substr(0, 256));
    if (start.starts_with("<!doctype html") || start.find("<html") != std::string::npos) {
      return {SourceKind::unknown, "it is a web page: is this the address of an API, and the token right?"};
    }
    return {SourceKind::unknown, "it is XML without <nvidia_smi_log> or <system>"};
  }
  return recognise_lines(text.substr(begin));
}

}  // namespace railweave::fabric
