#include "fabric/formats/gpu/nccl_topology.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <pugixml.hpp>

#include "fabric/base/whole_number.h"
#include "fabric/formats/text/name_text.h"
#include "fabric/formats/text/text_lines.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kMaxDepth = 32;

// "0000:0c:00.0" as a number that sorts as the bus does.
std::optional<std::uint64_t> parse_bus_id(std::string_view text) {
  std::uint64_t value = 0;
  const std::array<std::pair<char, unsigned>, 4> parts{{{':', 32}, {':', 8}, {'.', 8}, {'\0', 8}}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [separator, bits] = parts[i];
    const auto end = separator == '\0' ? text.size() : text.find(separator);
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    const auto part = whole_number<std::uint64_t>(text.substr(0, end), (std::uint64_t{1} << bits) - 1, 16);
    if (!part) return std::nullopt;
    value = value << bits | *part;
    text.remove_prefix(separator == '\0' ? end : end + 1);
  }
  return value;
}

using Path = std::vector<const void*>;  // the elements above a device, from <system> down, as identities

struct Found {
  std::uint64_t bus = 0;
  std::string bus_id;
  Path path;
  std::size_t cpu_depth = 0;           // how many of the path's elements are not PCI
  std::optional<unsigned> gpu_number;  // <gpu dev>
  std::string device;                  // <net name>
};

class NcclTopologyReader {
 public:
  NcclTopologyReader(std::string_view text, const ReadOptions& options) : text_(text), options_(options) {}

  Result<GpuAffinity> read() {
    pugi::xml_document document;
    const auto outcome = document.load_buffer(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!outcome) return std::unexpected(error(static_cast<std::size_t>(outcome.offset), outcome.description()));
    const auto system = document.child("system");
    if (!system) return std::unexpected(error(0, "expected an element <system>: the topology file of NCCL"));
    Path path{system.internal_object()};
    if (auto walked = walk(system, path, 1); !walked) return std::unexpected(walked.error());
    return result();
  }

 private:
  [[nodiscard]] Error error(std::size_t offset, std::string message, ErrorKind kind = ErrorKind::malformed) const {
    const auto before = text_.substr(0, offset);
    const auto line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
    const auto start = before.rfind('\n');
    const std::size_t column = start == std::string_view::npos ? before.size() + 1 : before.size() - start;
    return {kind, "ncclTopology.malformed", std::move(message), location_text(options_.source, line, column), {}};
  }
  [[nodiscard]] Error error(pugi::xml_node node, std::string message) const {
    return error(static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0)), std::move(message));
  }

  Result<void> walk(pugi::xml_node parent, Path& path, std::size_t cpu_depth) {
    if (path.size() > kMaxDepth) {
      return std::unexpected(error(parent, fmt::format("elements nested more than {} deep", kMaxDepth)));
    }
    for (const auto node : parent.children()) {
      const std::string_view name = node.name();
      path.push_back(node.internal_object());
      Result<void> outcome;
      if (name == "cpu") {
        outcome = walk(node, path, path.size());
      } else if (name == "nic") {
        outcome = add_nic(node, path, cpu_depth, {}, {});
      } else if (name == "pci") {
        outcome = read_pci(node, path, cpu_depth);
      }
      path.pop_back();
      if (!outcome) return outcome;
    }
    return {};
  }

  Result<void> read_pci(pugi::xml_node node, Path& path, std::size_t cpu_depth) {
    const std::string bus_id = node.attribute("busid").value();
    const auto bus = parse_bus_id(bus_id);
    if (!bus) return std::unexpected(error(node, "expected a PCI bus id such as \"0000:0c:00.0\" in busid"));
    const std::string_view pci_class = node.attribute("class").value();
    const auto gpu = node.child("gpu");
    const auto nic = node.child("nic");
    path.pop_back();  // a device's own element is not on its path
    Result<void> outcome;
    if (gpu || pci_class.starts_with("0x03")) {
      outcome = add_gpu(gpu, node, path, cpu_depth, *bus, bus_id);
    } else if (nic || pci_class.starts_with("0x02")) {
      outcome = add_nic(nic, path, cpu_depth, *bus, bus_id);
    }
    path.push_back(node.internal_object());
    if (!outcome || gpu || nic) return outcome;
    return walk(node, path, cpu_depth);
  }

  Result<void> add_gpu(pugi::xml_node gpu, pugi::xml_node at, const Path& path, std::size_t cpu_depth,
                       std::uint64_t bus, const std::string& bus_id) {
    if (gpus_.size() >= TopologyBuilder::kMaxGpusPerHost) {
      return std::unexpected(error(at, fmt::format("more than {} GPUs", TopologyBuilder::kMaxGpusPerHost)));
    }
    std::optional<unsigned> number;
    if (gpu.attribute("dev")) {
      number = gpu.attribute("dev").as_uint(~0U);
      if (*number >= TopologyBuilder::kMaxGpusPerHost)
        return std::unexpected(error(gpu, "expected a GPU number in dev"));
    }
    gpus_.push_back({bus, bus_id, path, cpu_depth, number, {}});
    return {};
  }

  // One adapter for each <net> of different name, or one without a name.
  Result<void> add_nic(pugi::xml_node nic, const Path& path, std::size_t cpu_depth, std::uint64_t bus,
                       const std::string& bus_id) {
    std::vector<std::string> names;
    for (const auto net : nic.children("net")) {
      const std::string_view name = net.attribute("name").value();
      if (name.size() > kMaxNameBytes || !is_clean_name(name)) {
        return std::unexpected(error(net, "expected a name without control characters"));
      }
      if (!name.empty() && std::ranges::find(names, name) == names.end()) names.emplace_back(name);
    }
    if (names.empty()) names.emplace_back();
    for (auto& name : names) nics_.push_back({bus, bus_id, path, cpu_depth, {}, std::move(name)});
    if (nics_.size() > kMaxAffinityNics) {
      return std::unexpected(error(nic, fmt::format("more than {} adapters", kMaxAffinityNics)));
    }
    return {};
  }

  Result<GpuAffinity> result() {
    if (gpus_.empty()) {
      return std::unexpected(
          error(0, "no GPU in the topology: no <pci> of class 0x03 and no <gpu>", ErrorKind::invalid));
    }
    const bool numbered = std::ranges::all_of(gpus_, [](const auto& gpu) { return gpu.gpu_number.has_value(); });
    std::ranges::stable_sort(gpus_, {},
                             [&](const Found& gpu) { return std::tuple(numbered ? *gpu.gpu_number : 0, gpu.bus); });
    const auto twin = std::ranges::adjacent_find(
        gpus_, [&](const auto& a, const auto& b) { return numbered ? a.gpu_number == b.gpu_number : a.bus == b.bus; });
    if (twin != gpus_.end()) {
      return std::unexpected(error(0, "two GPUs with the same number or bus id " + twin->bus_id, ErrorKind::invalid));
    }
    const bool named = std::ranges::any_of(nics_, [](const auto& nic) { return !nic.device.empty(); });
    if (named) std::erase_if(nics_, [](const auto& nic) { return nic.device.empty(); });
    std::ranges::stable_sort(nics_, {}, &Found::bus);

    GpuAffinity affinity;
    for (const auto& nic : nics_) affinity.nics.push_back({nic.device, nic.bus_id});
    for (const auto& gpu : gpus_) {
      auto& near = affinity.nics_of_gpu.emplace_back();
      for (unsigned i = 0; i < nics_.size(); ++i) near.push_back(distance(gpu, nics_[i], i));
    }
    rank_adapters(affinity);
    return affinity;
  }

  static GpuAffinity::Near distance(const Found& gpu, const Found& nic, unsigned index) {
    const auto [end, nic_end] = std::ranges::mismatch(gpu.path, nic.path);
    const auto common = static_cast<std::size_t>(end - gpu.path.begin());
    const auto hops = static_cast<unsigned>(gpu.path.size() - common + nic.path.size() - common);
    if (common > gpu.cpu_depth) {
      return {index, hops == 0 ? PciDistance::same_switch : PciDistance::switches, hops};
    }
    const bool same_cpu = common == gpu.cpu_depth && gpu.cpu_depth > 1;
    return {index, same_cpu ? PciDistance::numa_node : PciDistance::other_numa, 0};
  }

  std::string_view text_;
  const ReadOptions& options_;
  std::vector<Found> gpus_, nics_;
};

}  // namespace

Result<GpuAffinity> read_nccl_topology(std::string_view text, const ReadOptions& options) {
  if (text.size() > kMaxAffinityBytes) {
    return fail(ErrorKind::tooLarge, "input.tooLarge",
                fmt::format("the topology file has {} bytes; at most {} are read", text.size(), kMaxAffinityBytes),
                options.source);
  }
  return NcclTopologyReader(text, options).read();
}

}  // namespace railweave::fabric
