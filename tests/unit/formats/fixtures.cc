#include "tests/unit/formats/fixtures.h"

#include <algorithm>
#include <array>

namespace railweave::fabric {

std::string RandomFabric::name(const char* prefix, std::size_t i) {
  static constexpr std::array<const char*, 4> kOdd{" \"quoted\"", " back\\slash", " \xc3\xa9t\xc3\xa9",
                                                   " \xf0\x9f\x9a\x84"};
  std::string result = prefix + std::to_string(i);
  if (!dump_like_ && chance(10)) result += kOdd[below(kOdd.size())];
  return result;
}

LinkSpec RandomFabric::link_spec() {
  static constexpr std::array<LinkSpeed, 10> kSpeeds{LinkSpeed::unknown, LinkSpeed::sdr, LinkSpeed::ddr, LinkSpeed::qdr,
                                                     LinkSpeed::fdr10,   LinkSpeed::fdr, LinkSpeed::edr, LinkSpeed::hdr,
                                                     LinkSpeed::ndr,     LinkSpeed::xdr};
  static constexpr std::array<std::uint16_t, 5> kWidths{0, 1, 4, 8, 12};
  LinkSpec spec = infiniband_link(kWidths[below(kWidths.size())], kSpeeds[below(kSpeeds.size())]);
  if (dump_like_) return spec;
  if (chance(20)) spec = ethernet_link(RateMbps(static_cast<std::int64_t>(below(800'000))));
  if (chance(20)) spec.rate = RateMbps(static_cast<std::int64_t>(below(UINT32_MAX)));
  if (chance(30)) spec.cable_length_m = static_cast<float>(below(1'000'000)) / 7919.0F;
  return spec;
}

Guid RandomFabric::guid(Parts& parts) {
  if (!dump_like_ && chance(5)) return Guid();
  if (!dump_like_ && chance(5)) return Guid(0x2000 + below(64));  // perhaps that of another device
  return Guid(parts.last_guid += 16);
}

void RandomFabric::add_groups(Parts& parts) {
  for (std::size_t i = 0; i < below(4); ++i) parts.racks.push_back(parts.builder.rack(name("rack-", i)));
  for (std::size_t i = 0; i < below(4); ++i) parts.rails.push_back(parts.builder.rail(name("rail-", below(100))));
  for (std::size_t i = 0; i < below(4); ++i) {
    parts.domains.push_back(parts.builder.nvlink_domain(name("domain-", i), chance(50) ? name("uuid-", i) : "",
                                                        RateMbps(std::int64_t(below(9'000'000)))));
  }
}

void RandomFabric::add_switch(Parts& parts, std::size_t i) {
  const std::string switch_name = name("leaf-", !dump_like_ && chance(10) ? 0 : i);
  const std::string description = !dump_like_ && chance(50) ? name("as on the wire ", i) : switch_name;
  const std::string group = !dump_like_ && chance(30) ? name("group-", below(3)) : "";
  SwitchSpec spec{.guid = guid(parts),
                  .name = switch_name,
                  .description = description,
                  .ports = static_cast<unsigned>(1 + below(16)),
                  .subnet = parts.subnets[below(parts.subnets.size())],
                  .rack = parts.racks.empty() || chance(30) ? RackId() : parts.racks[below(parts.racks.size())],
                  .group = group,
                  .lid = static_cast<Lid>(below(0xc000)),
                  .lmc = static_cast<std::uint8_t>(below(8))};
  const SwitchDraft draft = parts.builder.add_switch(spec);
  for (unsigned port = 1; port <= spec.ports; ++port) parts.free_ports.emplace_back(draft, port);
}

HcaDraft RandomFabric::add_hca(Parts& parts, HostDraft host, const std::string& host_name, HcaKind kind,
                               std::size_t d) {
  const std::string device = dump_like_ || chance(80) ? "mlx5_" + std::to_string(d) : "";
  std::string description = host_name + " " + device;
  if (kind == HcaKind::aggregation) description = "Mellanox Technologies Aggregation Node";
  if (kind == HcaKind::router) description = "a router";
  if (!dump_like_ && chance(30)) description = name("said ", d);
  const Guid node_guid = guid(parts);
  const auto ports = static_cast<unsigned>(dump_like_ ? 1 + below(2) : below(3));
  const HcaDraft draft = parts.builder.add_hca({.guid = node_guid,
                                                .kind = kind,
                                                .host = host,
                                                .device = kind == HcaKind::host ? device : "",
                                                .description = description,
                                                .ports = ports});
  for (unsigned port = 1; port <= ports; ++port) {
    parts.free_ports.emplace_back(draft, port);
    HcaPortSpec spec{.guid = Guid(node_guid.value() + port),
                     .lid = static_cast<Lid>(below(0xc000)),
                     .lmc = static_cast<std::uint8_t>(below(8)),
                     .rail = {}};
    if (!parts.rails.empty() && chance(70)) spec.rail = parts.rails[below(parts.rails.size())];
    if (!dump_like_ && chance(20)) spec.guid = Guid();
    parts.builder.set_port(draft, port, spec);
  }
  return draft;
}

void RandomFabric::add_host(Parts& parts, std::size_t i) {
  const std::string host_name = name("node-", i);
  const HostDraft host = parts.builder.host(host_name, dump_like_ ? HostKind::compute : HostKind(below(4)));
  if (!parts.racks.empty() && chance(70)) parts.builder.set_rack(host, parts.racks[below(parts.racks.size())]);
  if (!dump_like_) {
    for (std::size_t l = 0; l < below(3); ++l) parts.builder.add_label(host, name("key-", l), name("value-", below(5)));
  }
  std::vector<HcaDraft> adapters;
  for (std::size_t d = 0; d < below(5); ++d) adapters.push_back(add_hca(parts, host, host_name, HcaKind::host, d));
  if (!dump_like_) add_gpus(parts, host, adapters);
}

void RandomFabric::add_gpus(Parts& parts, HostDraft host, const std::vector<HcaDraft>& adapters) {
  for (std::size_t g = 0; g < below(9); ++g) {
    const GpuDraft gpu = parts.builder.add_gpu(host);
    if (!parts.domains.empty() && chance(80)) {
      parts.builder.set_nvlink_domain(gpu, parts.domains[below(parts.domains.size())],
                                      chance(50) ? static_cast<std::uint32_t>(below(3)) : TopologyBuilder::kNoClique);
    }
    for (std::size_t n = 0; !adapters.empty() && n < below(3); ++n)
      parts.builder.add_nic(gpu, adapters[below(adapters.size())]);
  }
}

// Ports without a cable leave no trace of their GUIDs in a dump, so there every adapter port gets one where possible.
void RandomFabric::add_cables(Parts& parts) {
  auto& ports = parts.free_ports;
  std::shuffle(ports.begin(), ports.end(), random_);
  if (dump_like_) std::ranges::stable_partition(ports, [](const CableEnd& end) { return !end.is_switch; });
  std::size_t low = 0;
  std::size_t high = ports.size();
  while (low + 1 < high) {
    if (!dump_like_ && chance(20)) {
      ++low;
      continue;
    }
    --high;
    parts.builder.connect(ports[low++], ports[high], link_spec());
  }
}

void RandomFabric::add_findings(Parts& parts) {
  for (std::size_t i = 0; i < below(3); ++i) {
    parts.builder.add_finding({"code" + std::to_string(i),
                               Severity(below(3)),
                               name("message ", i) + "\n\tand more\x01",
                               {name("object ", i)}});
  }
}

Topology RandomFabric::make() {
  Parts parts;
  const std::size_t switches = 1 + below(8);
  const std::size_t hosts = below(12);
  parts.subnets.push_back(parts.builder.subnet("default"));
  if (!dump_like_) {
    for (std::size_t i = 0; i < below(3); ++i)
      parts.subnets.push_back(parts.builder.subnet(name("subnet-", i), SubnetKind(below(4))));
    add_groups(parts);
  }
  for (std::size_t i = 0; i < switches; ++i) add_switch(parts, i);
  for (std::size_t i = 0; i < hosts; ++i) add_host(parts, i);
  for (std::size_t i = 0; i < below(3); ++i) add_hca(parts, {}, "", HcaKind::aggregation, i);
  for (std::size_t i = 0; i < below(2); ++i) add_hca(parts, {}, "", HcaKind::router, i);
  add_cables(parts);
  if (!dump_like_) add_findings(parts);
  return built(std::move(parts.builder));
}

}  // namespace railweave::fabric
