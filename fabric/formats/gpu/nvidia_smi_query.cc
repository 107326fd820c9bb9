#include "fabric/formats/gpu/nvidia_smi_query.h"

#include <algorithm>
#include <optional>

#include <pugixml.hpp>

#include "fabric/base/whole_number.h"
#include "fabric/formats/text/name_text.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {
namespace {

std::string smi_location(std::string_view text, std::size_t offset, const ReadOptions& options) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
  const auto begin = before.rfind('\n');
  return location_text(options.source, line, before.size() - (begin == std::string_view::npos ? 0 : begin + 1) + 1);
}

// "" for what nvidia-smi writes where it knows nothing.
std::string smi_value(const pugi::xml_node& node) {
  const std::string text = node.child_value();
  const bool none = text.empty() || text == "N/A" || text == "[N/A]" || text == "None" || text.starts_with("[");
  return none ? std::string() : escaped_name(text);
}

// "0x2937c1a5b2e01122"; none: the GPU is in no fabric.
std::optional<std::uint64_t> smi_fabric_guid(const pugi::xml_node& gpu) {
  const std::string_view text = gpu.child("platformInfo").child_value("gpu_fabric_guid");
  if (!text.starts_with("0x")) return std::nullopt;
  const auto guid = whole_number<std::uint64_t>(text.substr(2), UINT64_MAX, 16);
  return guid && *guid != 0 ? guid : std::nullopt;
}

}  // namespace

Result<MachineGpus> read_nvidia_smi_query(std::string_view text, const ReadOptions& options) {
  if (text.size() > kMaxSmiQueryBytes) {
    return fail(ErrorKind::tooLarge, "input.tooLarge", "larger than 16 MiB", options.source);
  }
  pugi::xml_document document;
  const auto outcome = document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!outcome) {
    return fail(ErrorKind::malformed, "nvidiaSmi.unreadable", std::string("not XML: ") + outcome.description(),
                smi_location(text, static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, outcome.offset)), options),
                "is the output of nvidia-smi -q -x complete?");
  }
  MachineGpus machine;
  for (const auto& gpu : document.child("nvidia_smi_log").children("gpu")) {
    const std::string product = smi_value(gpu.child("product_name"));
    const std::string uuid = smi_value(gpu.child("fabric").child("clusterUuid"));
    const std::string clique = smi_value(gpu.child("fabric").child("cliqueId"));
    if (const auto guid = smi_fabric_guid(gpu)) machine.fabric_guids.push_back(*guid);
    if (machine.gpus++ == 0) {
      machine.product = product;
      machine.cluster_uuid = uuid;
      machine.clique = clique;
    }
    machine.differ =
        machine.differ || product != machine.product || uuid != machine.cluster_uuid || clique != machine.clique;
  }
  if (machine.gpus > 0 && machine.gpus <= TopologyBuilder::kMaxGpusPerHost) return machine;
  return fail(ErrorKind::malformed, "nvidiaSmi.noGpu",
              machine.gpus == 0 ? "there is no <gpu> in an <nvidia_smi_log>" : "more than 64 GPUs in one machine",
              location_text(options.source, 1, 1), "give the output of nvidia-smi -q -x");
}

}  // namespace railweave::fabric
