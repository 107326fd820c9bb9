#include "fabric/formats/gpu/nvidia_smi_nvlink.h"

#include <cmath>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/decimal_number.h"
#include "fabric/formats/text/name_text.h"
#include "fabric/formats/text/text_lines.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {
namespace {

constexpr unsigned kMaxNumber = 999;
constexpr std::string_view kInactive = "<inactive>";

std::string_view without_blanks(std::string_view line) {
  const auto begin = line.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view()
                                         : line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

// "GPU 0: NAME (UUID: GPU-...)" -> NAME
std::optional<std::string_view> gpu_name(std::string_view line) {
  LineCursor cursor(line);
  if (!cursor.take("GPU ") || !cursor.take_number(kMaxNumber) || !cursor.take(": ")) return std::nullopt;
  const std::string_view rest = cursor.rest();
  return rest.substr(0, rest.find(" (UUID: "));
}

// "Link 0: TEXT" -> TEXT
std::optional<std::string_view> link_state(std::string_view line) {
  LineCursor cursor(line);
  if (!cursor.take("Link ") || !cursor.take_number(kMaxNumber) || !cursor.take(": ")) return std::nullopt;
  return cursor.rest();
}

// "26.562 GB/s" -> 200 Gb/s
std::optional<RateMbps> link_rate(std::string_view text) {
  constexpr double kStep = 25, kMaxGigabytes = 10'000, kMegabits = 8'000;
  if (!text.ends_with(" GB/s")) return std::nullopt;
  text.remove_suffix(5);
  const auto number = decimal_number(text);
  if (!number || *number <= 0 || *number > kMaxGigabytes) return std::nullopt;
  const double net = *number < kStep ? *number : std::floor(*number / kStep) * kStep;
  return RateMbps(std::llround(net * kMegabits));
}

}  // namespace

bool is_nvlink_status_line(std::string_view line) {
  const auto state = link_state(without_blanks(line));
  return state && (*state == kInactive || link_rate(*state));
}

Result<MachineNvlinks> read_nvidia_smi_nvlink(std::string_view text, const ReadOptions& options) {
  const auto plain = plain_text(text, options);
  if (!plain) return std::unexpected(plain.error());
  MachineNvlinks machine;
  LineReader lines(*plain);
  const auto refused = [&](std::string message) {
    return fail(ErrorKind::malformed, "nvidiaSmi.unreadable", std::move(message),
                location_text(options.source, lines.number(), 1), "give the output of nvidia-smi nvlink -s");
  };
  for (std::string_view line; lines.next(line);) {
    line = without_blanks(line);
    if (const auto name = gpu_name(line)) {
      if (machine.gpus.size() == TopologyBuilder::kMaxGpusPerHost) return refused("more than 64 GPUs in one machine");
      if (machine.gpus.empty()) machine.product = escaped_name(*name);
      machine.gpus.emplace_back();
      continue;
    }
    const auto state = link_state(line);
    if (!state) continue;  // a warning of the driver
    if (machine.gpus.empty()) return refused("a link before the first GPU");
    GpuNvlinks& gpu = machine.gpus.back();
    if (*state == kInactive) {
      ++gpu.down;
      continue;
    }
    const auto rate = link_rate(*state);
    if (!rate) return refused(fmt::format("'{}' is neither a rate in GB/s nor <inactive>", escaped_name(*state)));
    ++gpu.up;
    gpu.rate = gpu.rate + *rate;
  }
  if (machine.gpus.empty()) return refused("there is no GPU in it");
  return machine;
}

}  // namespace railweave::fabric
