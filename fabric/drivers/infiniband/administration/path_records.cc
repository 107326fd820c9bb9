#include "fabric/drivers/infiniband/administration/path_records.h"

#include <algorithm>

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric::infiniband {
namespace {

using EndPort = AdministeredSubnet::EndPort;

// Bits of the component mask.
constexpr unsigned kSourceLid = 5, kTargetLid = 4, kReversible = 11, kNumber = 12, kKey = 13, kLevel = 15;
constexpr unsigned kMtuSelector = 16, kMtu = 17, kRateSelector = 18, kRate = 19, kLifeSelector = 20, kLife = 21;
constexpr std::uint8_t kLongestLife = 18;  // 4.096 us * 2^18: about a second, as other subnet managers say by default
constexpr std::uint8_t kAvailable = 127;   // paths, of a request that does not say how many
constexpr std::uint16_t kMembership = 0x8000;

// Whether what a path has serves a request for more, less, just that much or the most; where the request wants less than the path
// could, it gets what it wants. Values are compared by `order`.
template <class Order>
bool select(bool is_asked, std::uint8_t selector, std::uint8_t wanted, std::uint8_t& has, Order order) {
  if (!is_asked || selector == 3) return true;
  switch (selector) {
    case 0:
      return order(has) > order(wanted);
    case 1:
      return order(has) < order(wanted);
    default:
      if (order(has) < order(wanted)) return false;
      has = wanted;
      return true;
  }
}

// The fastest code that a limit allows.
std::uint8_t limited(std::uint8_t rate, RateMbps limit) {
  std::uint8_t best = 0;
  for (std::uint8_t code = 2; code <= 24; ++code) {
    if (nominal_rate(code) > limit || nominal_rate(code) > nominal_rate(rate)) continue;
    if (best == 0 || nominal_rate(code) > nominal_rate(best)) best = code;
  }
  return best == 0 ? std::uint8_t{2} : best;
}

std::optional<Path> path_of(const AdministeredSubnet& subnet, const PathQuery& query, const EndPort& from,
                            const EndPort& to, unsigned offset) {
  const std::uint16_t wanted_key = query.asks(kKey) ? static_cast<std::uint16_t>(query.key & ~kMembership) : 0;
  Path path{.source = static_cast<Lid>(from.lid + (offset & ((1U << from.lmc) - 1U))),
            .target = static_cast<Lid>(to.lid + (offset & ((1U << to.lmc) - 1U)))};
  if (query.asks(kSourceLid)) path.source = query.source_lid;
  if (query.asks(kTargetLid)) path.target = query.target_lid;
  path.key = subnet.shared_key(from, to, wanted_key);
  if (path.key == 0 || (query.asks(kKey) && wanted_key == 0)) return std::nullopt;
  const auto there = walk_path(subnet, from, path.target);
  if (!there || there->pace.mtu == 0 || there->pace.rate == 0) return std::nullopt;
  const auto back = walk_path(subnet, to, path.source);
  path.is_reversible = back && back->level == there->level;
  if (query.asks(kReversible) && query.is_reversible && !path.is_reversible) return std::nullopt;
  path.level = there->level;
  path.mtu = there->pace.mtu;
  path.rate = there->pace.rate;
  path.life = &from == &to ? std::uint8_t{0} : kLongestLife;
  if (const PartitionService* partition = subnet.partition(path.key)) {
    path.level = static_cast<std::uint8_t>(path.level + partition->first_level);
    if (partition->limit) path.rate = limited(path.rate, *partition->limit);
  }
  if (query.asks(kLevel) && query.level != path.level) return std::nullopt;
  const auto plain = [](std::uint8_t code) { return code; };
  if (!select(query.asks(kMtuSelector) && query.asks(kMtu), query.mtu_selector, query.mtu, path.mtu, plain) ||
      !select(query.asks(kRateSelector) && query.asks(kRate), query.rate_selector, query.rate, path.rate,
              nominal_rate) ||
      !select(query.asks(kLifeSelector) && query.asks(kLife), query.life_selector, query.life, path.life, plain)) {
    return std::nullopt;
  }
  return path;
}

}  // namespace

std::optional<PathWalk> walk_path(const AdministeredSubnet& subnet, const EndPort& from, Lid to) {
  const std::uint32_t target = subnet.find(to);
  if (target == AdministeredSubnet::kNone) return std::nullopt;
  const EndPort& end = subnet.end_ports()[target];
  PathWalk walk{.pace = subnet.pace(from)};
  if (&end == &from) return walk;
  const DestinationId id = subnet.destination(to);
  if (!from.home || !end.home || !id) return std::nullopt;
  const ForwardingTables& tables = subnet.routing().tables;
  const RoutingScope& scope = tables.scope();
  const Topology& t = scope.topology();
  const PlaneId plane_id = scope.plane_of(from.home);
  if (scope.plane_of(id) != plane_id) return std::nullopt;
  const Plane& plane = scope.plane(plane_id);
  const PlaneLanes& lanes = subnet.routing().lanes.planes[plane_id.index()];
  if (const auto home = plane.home_of[scope.local(from.home)]; home != Plane::kNone) {
    walk.level = static_cast<std::uint8_t>(lanes.level(home, scope.local(id), plane.destination_count()));
  }
  SwitchId at = from.home;
  for (unsigned hop = 0; hop < kMaxPathHops; ++hop) {
    const std::uint16_t number = tables.out_port(at, id);
    if (number == kPortZero) {
      if (at != end.home || end.port) return std::nullopt;
      walk.pace = slower(walk.pace, subnet.pace(end));
      return walk;
    }
    if (number == kNoPort || number > t.ports(at).size()) return std::nullopt;
    const PortId out = t.ports(at)[number - 1];
    const PortId in = t.peer(out);
    if (!in) return std::nullopt;
    walk.pace = slower(walk.pace, slower(subnet.pace(out), subnet.pace(in)));
    at = t.switch_of(in);
    if (!at) return in == end.port ? std::optional(walk) : std::nullopt;
  }
  return std::nullopt;
}

PathQuery read_path_query(std::uint64_t component_mask, std::span<const std::uint8_t, kSaDataBytes> data) {
  return {.mask = component_mask,
          .source_prefix = read_64(data, 24),
          .target_prefix = read_64(data, 8),
          .source_guid = Guid(read_64(data, 32)),
          .target_guid = Guid(read_64(data, 16)),
          .source_lid = read_16(data, 42),
          .target_lid = read_16(data, 40),
          .is_reversible = read_bits(data, 49, 7, 1) != 0,
          .number = read_bits(data, 49, 0, 7),
          .key = read_16(data, 50),
          .level = read_bits(data, 53, 0, 4),
          .mtu_selector = read_bits(data, 54, 6, 2),
          .mtu = read_bits(data, 54, 0, 6),
          .rate_selector = read_bits(data, 55, 6, 2),
          .rate = read_bits(data, 55, 0, 6),
          .life_selector = read_bits(data, 56, 6, 2),
          .life = read_bits(data, 56, 0, 6)};
}

void add_paths(const AdministeredSubnet& subnet, const PathQuery& query, std::uint32_t from, std::uint32_t to,
               std::size_t at_most, std::vector<Path>& paths) {
  const EndPort& source = subnet.end_ports()[from];
  const EndPort& target = subnet.end_ports()[to];
  std::size_t count = query.asks(kNumber) ? query.number : kAvailable;
  count = std::min(count, at_most);
  // A LID that is asked for is the only one of its port.
  const bool is_one = (query.asks(kSourceLid) || source.lmc == 0) && (query.asks(kTargetLid) || target.lmc == 0);
  const unsigned offsets = is_one ? 1U : 1U << std::max(source.lmc, target.lmc);
  for (unsigned offset = 0; offset < offsets && count > 0; ++offset) {
    const auto path = path_of(subnet, query, source, target, offset);
    if (!path) continue;
    paths.push_back(*path);
    --count;
  }
}

void write_path(std::span<std::uint8_t, kPathRecordBytes> record, const AdministeredSubnet& subnet, const Path& path) {
  constexpr unsigned kExactly = 2;
  const auto& ends = subnet.end_ports();
  std::ranges::fill(record, std::uint8_t{0});
  write_be(record, 8, 8, subnet.gid_prefix());
  write_be(record, 16, 8, ends[subnet.find(path.target)].guid.value());
  write_be(record, 24, 8, subnet.gid_prefix());
  write_be(record, 32, 8, ends[subnet.find(path.source)].guid.value());
  write_be(record, 40, 2, path.target);
  write_be(record, 42, 2, path.source);
  write_bits(record, 49, 7, 1, path.is_reversible ? 1 : 0);
  write_bits(record, 49, 0, 7, 1);
  write_be(record, 50, 2, path.key);
  write_bits(record, 53, 0, 4, path.level);
  write_bits(record, 54, 6, 2, kExactly);
  write_bits(record, 54, 0, 6, path.mtu);
  write_bits(record, 55, 6, 2, kExactly);
  write_bits(record, 55, 0, 6, path.rate);
  write_bits(record, 56, 6, 2, kExactly);
  write_bits(record, 56, 0, 6, path.life);
}

std::vector<std::uint8_t> write_paths(const AdministeredSubnet& subnet, std::span<const Path> paths) {
  std::vector<std::uint8_t> records(paths.size() * kPathRecordBytes);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    write_path(std::span<std::uint8_t, kPathRecordBytes>(records.data() + i * kPathRecordBytes, kPathRecordBytes),
               subnet, paths[i]);
  }
  return records;
}

}  // namespace railweave::fabric::infiniband
