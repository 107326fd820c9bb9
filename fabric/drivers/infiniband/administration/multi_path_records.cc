#include "fabric/drivers/infiniband/administration/multi_path_records.h"

#include <array>
#include <optional>

#include "fabric/drivers/infiniband/administration/path_records.h"

namespace railweave::fabric::infiniband {
namespace {

constexpr unsigned kNumberGiven = 6, kSourcesGiven = 19, kTargetsGiven = 20;
constexpr std::size_t kFirstGid = 24, kGidBytes = 16;
constexpr std::uint8_t kUsualNumber = 127;

// The same conditions as bits of PathRecord's mask: reversible, partition, level, and those on MTU, rate and life with their selectors.
std::uint64_t path_mask(std::uint64_t mask) {
  constexpr std::array<std::pair<unsigned, unsigned>, 9> kSame = {
      {{5, 11}, {7, 13}, {9, 15}, {10, 16}, {11, 17}, {12, 18}, {13, 19}, {14, 20}, {15, 21}}};
  std::uint64_t same = 0;
  for (const auto& [from, to] : kSame) same |= (mask >> from & 1U) << to;
  return same;
}

PathQuery read_query(std::uint64_t mask, std::span<const std::uint8_t, kSaDataBytes> data) {
  return {.mask = path_mask(mask),
          .is_reversible = read_bits(data, 5, 7, 1) != 0,
          .key = read_16(data, 6),
          .level = read_bits(data, 9, 0, 4),
          .mtu_selector = read_bits(data, 10, 6, 2),
          .mtu = read_bits(data, 10, 0, 6),
          .rate_selector = read_bits(data, 11, 6, 2),
          .rate = read_bits(data, 11, 0, 6),
          .life_selector = read_bits(data, 12, 6, 2),
          .life = read_bits(data, 12, 0, 6)};
}

// None: there is no port with one of these GIDs.
std::optional<std::vector<std::uint32_t>> ports_of(const AdministeredSubnet& subnet,
                                                   std::span<const std::uint8_t, kSaDataBytes> data, unsigned first,
                                                   unsigned count) {
  std::vector<std::uint32_t> ports;
  for (unsigned i = first; i < first + count; ++i) {
    const std::size_t at = kFirstGid + i * kGidBytes;
    if (read_64(data, at) != subnet.gid_prefix()) return std::nullopt;
    const std::uint32_t port = subnet.find(Guid(read_64(data, at + 8)));
    if (port == AdministeredSubnet::kNone) return std::nullopt;
    ports.push_back(port);
  }
  return ports;
}

}  // namespace

SaAnswer answer_multi_paths(const Requester& requester, const Mad& request, SaAnswer answer) {
  const AdministeredSubnet& subnet = requester.subnet;
  const auto data = sa_data(request);
  const std::uint64_t mask = answer.header.component_mask;
  const unsigned sources = read_8(data, 15), targets = read_8(data, 16);
  if ((mask >> kSourcesGiven & 1U) == 0 || (mask >> kTargetsGiven & 1U) == 0) {
    return refuse(std::move(answer), SaStatus::lacksComponents);
  }
  if (sources == 0 || targets == 0 || sources + targets > kMaxMultiPathGids) {
    return refuse(std::move(answer), SaStatus::invalidRequest);
  }
  const auto from = ports_of(subnet, data, 0, sources), to = ports_of(subnet, data, sources, targets);
  if (!from || !to) return refuse(std::move(answer), SaStatus::invalidGid);
  const PathQuery query = read_query(mask, data);
  const std::size_t at_most = (mask >> kNumberGiven & 1U) != 0 ? read_bits(data, 5, 0, 7) : kUsualNumber;
  std::vector<Path> paths;
  const auto add = [&](std::uint32_t source, std::uint32_t target, std::size_t count) {
    const auto& ends = subnet.end_ports();
    if (requester.sees(ends[source]) && requester.sees(ends[target])) {
      add_paths(subnet, query, source, target, count, paths);
    }
  };
  if (sources == 2 && targets == 2 && at_most == 2) {
    for (const unsigned cross : {0U, 1U}) {
      if (paths.size() == 2) break;
      paths.clear();
      for (const unsigned i : {0U, 1U}) add((*from)[i], (*to)[i ^ cross], 1);
    }
  }
  if (paths.empty()) {
    for (const std::uint32_t source : *from) {
      for (const std::uint32_t target : *to) add(source, target, at_most - paths.size());
    }
  }
  answer.header.attribute = static_cast<std::uint16_t>(SaAttribute::pathRecord);
  answer.record_count = paths.size();
  answer.records = write_paths(subnet, paths);
  return answer;
}

}  // namespace railweave::fabric::infiniband
