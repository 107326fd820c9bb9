#include "fabric/generate/torus.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "fabric/generate/limits.h"
#include "fabric/generate/storage.h"

namespace railweave::fabric {
Result<void> generate_torus(TorusSpec spec, TopologyBuilder& builder) {
  static constexpr std::uint32_t kMaxPerDimension = 1024;
  const std::array<std::uint32_t, 3> size{spec.x, spec.y, spec.z};
  const bool bad_size = std::ranges::any_of(size, [](auto n) { return n == 0 || n > kMaxPerDimension; });
  if (bad_size || spec.hosts_per_switch == 0 || spec.cluster.planes == 0) {
    return impossible(fmt::format("a torus of {} x {} x {} switches with {} hosts each", spec.x, spec.y, spec.z,
                                  spec.hosts_per_switch),
                      "dimensions of 1 to 1024 and at least one host per switch are possible");
  }
  HostsSpec& hosts = spec.cluster.hosts;
  const std::uint64_t count = std::uint64_t{spec.x} * spec.y * spec.z;
  const std::uint64_t capacity = count * spec.hosts_per_switch;
  if (hosts.hosts > capacity) {
    return impossible(fmt::format("{} hosts do not fit in a torus of {}", hosts.hosts, capacity),
                      "use larger dimensions or more hosts per switch");
  }
  if (hosts.hosts == 0) hosts.hosts = static_cast<std::uint32_t>(std::min<std::uint64_t>(capacity, UINT32_MAX));
  if (auto ok = check_cluster(spec.cluster); !ok) return ok;
  const std::uint32_t per_host = hosts.nics_per_host / spec.cluster.planes;
  const std::uint32_t host_ports = spec.hosts_per_switch * per_host;
  const std::uint64_t radix = std::uint64_t{host_ports} + std::uint64_t{6} * spec.links_per_neighbour;
  if (radix > TopologyBuilder::kMaxPortsPerDevice) {
    return impossible(fmt::format("a switch needs {} ports", radix),
                      fmt::format("up to {} are possible", TopologyBuilder::kMaxPortsPerDevice));
  }
  if (auto ok = check_size({count, radix, std::uint64_t{hosts.hosts} * per_host}, spec.cluster); !ok) return ok;

  const auto added = add_hosts(hosts, builder);
  if (!added) return std::unexpected(added.error());
  const HostBlock& block = *added;
  for (std::uint32_t plane = 0; plane < spec.cluster.planes; ++plane) {
    const PlaneAdapters adapters = plane_adapters(block, plane, spec.cluster.planes);
    NetworkDraft network(builder, plane_network(spec.cluster, plane));
    std::vector<SwitchDraft> switches;  // x slowest
    for (std::uint32_t x = 0; x < spec.x; ++x) {
      for (std::uint32_t y = 0; y < spec.y; ++y) {
        for (std::uint32_t z = 0; z < spec.z; ++z) {
          switches.push_back(
              network.add_switch(fmt::format("torus-{}-{}-{}", x, y, z), static_cast<std::uint32_t>(radix)));
        }
      }
    }
    for (std::uint32_t host = 0; host < hosts.hosts; ++host) {
      for (std::uint32_t n = 0; n < per_host; ++n) {
        network.attach(switches[host / spec.hosts_per_switch], host % spec.hosts_per_switch * per_host + n + 1,
                       adapters.at(host, n));
      }
    }
    const std::array<std::uint32_t, 3> stride{spec.y * spec.z, spec.z, 1};
    for (std::uint32_t s = 0; s < switches.size(); ++s) {
      for (std::uint32_t d = 0; d < 3; ++d) {
        const std::uint32_t at = s / stride[d] % size[d];
        const bool last = at + 1 == size[d];
        if (size[d] == 1 || (last && size[d] == 2)) continue;
        const std::uint32_t next = last ? s - at * stride[d] : s + stride[d];
        for (std::uint32_t l = 0; l < spec.links_per_neighbour; ++l) {
          const std::uint32_t plus = host_ports + 2 * d * spec.links_per_neighbour + l + 1;
          network.join(switches[s], plus, switches[next], plus + spec.links_per_neighbour);
        }
      }
    }
  }
  return add_storage(spec.cluster, block, builder);
}

}  // namespace railweave::fabric
