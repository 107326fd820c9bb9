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

Topology RandomFabric::make() {
  TopologyBuilder builder;
  std::vector<CableEnd> free_ports;
  const std::size_t switches = 1 + below(8);
  const std::size_t hosts = below(12);
  std::vector<SubnetId> subnets{builder.subnet("default")};
  if (!dump_like_) {
    for (std::size_t i = 0; i < below(3); ++i)
      subnets.push_back(builder.subnet(name("subnet-", i), SubnetKind(below(4))));
  }
  std::vector<RackId> racks;
  std::vector<RailId> rails;
  std::vector<DomainDraft> domains;
  if (!dump_like_) {
    for (std::size_t i = 0; i < below(4); ++i) racks.push_back(builder.rack(name("rack-", i)));
    for (std::size_t i = 0; i < below(4); ++i) rails.push_back(builder.rail(name("rail-", below(100))));
    for (std::size_t i = 0; i < below(4); ++i) {
      domains.push_back(builder.nvlink_domain(name("domain-", i), chance(50) ? name("uuid-", i) : "",
                                              RateMbps(std::int64_t(below(9'000'000)))));
    }
  }
  std::uint64_t next_guid = 0x2000;
  const auto guid = [&] {
    if (!dump_like_ && chance(5)) return Guid();
    if (!dump_like_ && chance(5)) return Guid(0x2000 + below(64));  // perhaps that of another device
    return Guid(next_guid += 16);
  };
  for (std::size_t i = 0; i < switches; ++i) {
    const std::string switch_name = name("leaf-", !dump_like_ && chance(10) ? 0 : i);
    const std::string description = !dump_like_ && chance(50) ? name("as on the wire ", i) : switch_name;
    const std::string group = !dump_like_ && chance(30) ? name("group-", below(3)) : "";
    SwitchSpec spec{.guid = guid(),
                    .name = switch_name,
                    .description = description,
                    .ports = static_cast<unsigned>(1 + below(16)),
                    .subnet = subnets[below(subnets.size())],
                    .rack = racks.empty() || chance(30) ? RackId() : racks[below(racks.size())],
                    .group = group,
                    .lid = static_cast<Lid>(below(0xc000)),
                    .lmc = static_cast<std::uint8_t>(below(8))};
    const SwitchDraft draft = builder.add_switch(spec);
    for (unsigned port = 1; port <= spec.ports; ++port) free_ports.emplace_back(draft, port);
  }
  const auto add_hca = [&](HostDraft host, const std::string& host_name, HcaKind kind, std::size_t d) {
    const std::string device = dump_like_ || chance(80) ? "mlx5_" + std::to_string(d) : "";
    std::string description = host_name + " " + device;
    if (kind == HcaKind::aggregation) description = "Mellanox Technologies Aggregation Node";
    if (kind == HcaKind::router) description = "a router";
    if (!dump_like_ && chance(30)) description = name("said ", d);
    const Guid node_guid = guid();
    const auto ports = static_cast<unsigned>(dump_like_ ? 1 + below(2) : below(3));
    const HcaDraft draft = builder.add_hca({.guid = node_guid,
                                            .kind = kind,
                                            .host = host,
                                            .device = kind == HcaKind::host ? device : "",
                                            .description = description,
                                            .ports = ports});
    for (unsigned port = 1; port <= ports; ++port) {
      free_ports.emplace_back(draft, port);
      HcaPortSpec spec{.guid = Guid(node_guid.value() + port),
                       .lid = static_cast<Lid>(below(0xc000)),
                       .lmc = static_cast<std::uint8_t>(below(8)),
                       .rail = {}};
      if (!rails.empty() && chance(70)) spec.rail = rails[below(rails.size())];
      if (!dump_like_ && chance(20)) spec.guid = Guid();
      builder.set_port(draft, port, spec);
    }
    return draft;
  };
  for (std::size_t i = 0; i < hosts; ++i) {
    const std::string host_name = name("node-", i);
    const HostDraft host = builder.host(host_name, dump_like_ ? HostKind::compute : HostKind(below(4)));
    if (!racks.empty() && chance(70)) builder.set_rack(host, racks[below(racks.size())]);
    if (!dump_like_) {
      for (std::size_t l = 0; l < below(3); ++l) builder.add_label(host, name("key-", l), name("value-", below(5)));
    }
    std::vector<HcaDraft> adapters;
    for (std::size_t d = 0; d < below(5); ++d) adapters.push_back(add_hca(host, host_name, HcaKind::host, d));
    for (std::size_t g = 0; !dump_like_ && g < below(9); ++g) {
      const GpuDraft gpu = builder.add_gpu(host);
      if (!domains.empty() && chance(80)) {
        builder.set_nvlink_domain(gpu, domains[below(domains.size())],
                                  chance(50) ? static_cast<std::uint32_t>(below(3)) : TopologyBuilder::kNoClique);
      }
      for (std::size_t n = 0; !adapters.empty() && n < below(3); ++n)
        builder.add_nic(gpu, adapters[below(adapters.size())]);
    }
  }
  for (std::size_t i = 0; i < below(3); ++i) add_hca({}, "", HcaKind::aggregation, i);
  for (std::size_t i = 0; i < below(2); ++i) add_hca({}, "", HcaKind::router, i);
  // Ports that stay uncabled in a dump leave no trace of their GUIDs, so there every adapter port gets a cable if it
  // can.
  std::shuffle(free_ports.begin(), free_ports.end(), random_);
  if (dump_like_) std::ranges::stable_partition(free_ports, [](const CableEnd& end) { return !end.is_switch; });
  std::size_t low = 0;
  std::size_t high = free_ports.size();
  while (low + 1 < high) {
    if (!dump_like_ && chance(20)) {
      ++low;
      continue;
    }
    --high;
    builder.connect(free_ports[low++], free_ports[high], link_spec());
  }
  if (!dump_like_) {
    for (std::size_t i = 0; i < below(3); ++i) {
      builder.add_finding({"code" + std::to_string(i),
                           Severity(below(3)),
                           name("message ", i) + "\n\tand more\x01",
                           {name("object ", i)}});
    }
  }
  return built(std::move(builder));
}

}  // namespace railweave::fabric
