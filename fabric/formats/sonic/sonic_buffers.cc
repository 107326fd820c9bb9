#include "fabric/formats/sonic/sonic_buffers.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/core.h>

namespace railweave::fabric {
namespace {

constexpr double kLightInGlassMPerS = 198e6;
constexpr unsigned kLeastPacketBytes = 64, kQuantumBytes = 512 / 8;
constexpr double kLongestCableM = 40'000;

// IEEE 802.3 31B.3.7, by rate in Gb/s.
const std::map<std::int64_t, unsigned>& pause_quanta() {
  static const std::map<std::int64_t, unsigned> quanta = {{1, 2},     {10, 67},   {25, 80},   {40, 118}, {50, 147},
                                                          {100, 394}, {200, 453}, {400, 905}, {800, 905}};
  return quanta;
}

std::uint64_t whole_kib(double bytes) { return static_cast<std::uint64_t>(std::ceil(bytes / 1024)) * 1024; }

std::string text(std::uint64_t value) { return std::to_string(value); }

// "3-4" where classes follow each other.
std::vector<std::string> ranges(std::vector<unsigned> classes) {
  std::ranges::sort(classes);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < classes.size();) {
    std::size_t end = i + 1;
    while (end < classes.size() && classes[end] == classes[end - 1] + 1) ++end;
    result.push_back(text(classes[i]) + (end > i + 1 ? "-" + text(classes[end - 1]) : ""));
    i = end;
  }
  return result;
}

}  // namespace

Result<PfcHeadroom> pfc_headroom(RateMbps rate, double cable_m, const SonicAsic& asic) {
  const auto quanta = pause_quanta().lower_bound((rate.value() + 999) / 1000);
  if (quanta == pause_quanta().end() || rate.value() <= 0) {
    return fail(ErrorKind::invalid, "sonic.invalid",
                fmt::format("how fast a peer obeys a pause is not known at {} Mb/s", rate.value()), {},
                "it is up to 800 Gb/s");
  }
  if (!(cable_m >= 0 && cable_m <= kLongestCableM)) {
    return fail(ErrorKind::invalid, "sonic.invalid", "a cable is 0 to 40,000 m long");
  }
  const double cell = asic.cell_bytes;
  const double worst = cell > 2 * kLeastPacketBytes ? cell / kLeastPacketBytes : 2 * cell / (1 + cell);
  const double small = asic.small_packets_percent / 100.0, occupancy = 1 - small + small * worst;
  const double on_cable = 2 * cable_m / kLightInGlassMPerS * static_cast<double>(rate.value()) * 1e6 / 8;
  const double until_quiet = asic.port_mtu_bytes + on_cable + static_cast<double>(asic.mac_phy_bytes) +
                             static_cast<double>(quanta->second) * kQuantumBytes;
  PfcHeadroom headroom;
  headroom.xoff_bytes = whole_kib(asic.lossless_mtu_bytes + until_quiet * occupancy);
  headroom.xon_bytes = whole_kib(static_cast<double>(asic.pipeline_bytes));
  headroom.size_bytes = headroom.xoff_bytes + headroom.xon_bytes;
  return headroom;
}

Result<std::vector<SonicTable>> sonic_buffer_tables(const SonicBuffers& buffers) {
  SonicTable pools{"BUFFER_POOL", {}}, profiles{"BUFFER_PROFILE", {}}, groups{"BUFFER_PG", {}},
      queues{"BUFFER_QUEUE", {}};
  std::map<std::string, PfcHeadroom> headrooms;  // by profile
  std::uint64_t reserved = 0;
  std::size_t groups_with_headroom = 0;
  for (const SonicCable& cable : buffers.cables) {
    const double metres = std::max(1.0, std::ceil(cable.length_m));
    const auto headroom = pfc_headroom(cable.rate, metres, buffers.asic);
    if (!headroom) return fail(headroom.error().kind, headroom.error().code, headroom.error().message, cable.port);
    const std::string profile =
        fmt::format("pg_lossless_{}_{}m_profile", cable.rate.value(), text(static_cast<std::uint64_t>(metres)));
    if (!cable.lossless.empty()) headrooms[profile] = *headroom;
    reserved += headroom->size_bytes * cable.lossless.size();
    groups_with_headroom += cable.lossless.size();
    for (const auto& range : ranges(cable.lossless)) {
      groups.rows.push_back({cable.port + "|" + range, {{"profile", profile}}});
      queues.rows.push_back({cable.port + "|" + range, {{"profile", "egress_lossless_profile"}}});
    }
    // All lossy classes share priority group 0, as TC_TO_PRIORITY_GROUP_MAP has it.
    if (!cable.lossy.empty()) groups.rows.push_back({cable.port + "|0", {{"profile", "ingress_lossy_profile"}}});
    for (const auto& range : ranges(cable.without_headroom)) {
      groups.rows.push_back({cable.port + "|" + range, {{"profile", "ingress_lossy_profile"}}});
    }
    for (const auto& range : ranges(cable.lossy)) {
      queues.rows.push_back({cable.port + "|" + range, {{"profile", "egress_lossy_profile"}}});
    }
  }
  if (reserved >= buffers.asic.memory_bytes) {
    return fail(ErrorKind::impossible, "sonic.bufferTooSmall",
                "headroom of " + text(groups_with_headroom) + " lossless classes and lanes on " +
                    text(buffers.cables.size()) + " ports is " + text(reserved) + " bytes of " +
                    text(buffers.asic.memory_bytes),
                {}, "fewer lossless classes, shorter cables, or a larger memory");
  }
  const std::string memory = text(buffers.asic.memory_bytes), shared = text(buffers.asic.memory_bytes - reserved);
  pools.rows.push_back({"ingress_lossless_pool", {{"type", "ingress"}, {"mode", "dynamic"}, {"size", shared}}});
  pools.rows.push_back({"egress_lossless_pool", {{"type", "egress"}, {"mode", "static"}, {"size", memory}}});
  pools.rows.push_back({"egress_lossy_pool", {{"type", "egress"}, {"mode", "dynamic"}, {"size", shared}}});
  for (const auto& [name, headroom] : headrooms) {
    profiles.rows.push_back({name,
                             {{"pool", "ingress_lossless_pool"},
                              {"size", text(headroom.size_bytes)},
                              {"xon", text(headroom.xon_bytes)},
                              {"xoff", text(headroom.xoff_bytes)},
                              {"dynamic_th", "0"}}});
  }
  profiles.rows.push_back(
      {"ingress_lossy_profile", {{"pool", "ingress_lossless_pool"}, {"size", "0"}, {"dynamic_th", "3"}}});
  profiles.rows.push_back(
      {"egress_lossless_profile", {{"pool", "egress_lossless_pool"}, {"size", "0"}, {"static_th", memory}}});
  profiles.rows.push_back(
      {"egress_lossy_profile", {{"pool", "egress_lossy_pool"}, {"size", "1518"}, {"dynamic_th", "3"}}});
  return std::vector<SonicTable>{std::move(pools), std::move(profiles), std::move(groups), std::move(queues)};
}

}  // namespace railweave::fabric
