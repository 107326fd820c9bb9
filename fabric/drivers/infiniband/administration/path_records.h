// Paths between two end ports as switches forward them: what packets along them can be, the service level that their routes
// need, and the partition that both ends share; and the PathRecords that a request asks for (IBA 15.2.5.16). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fabric/drivers/infiniband/administration/administered_subnet.h"
#include "fabric/drivers/infiniband/administration/sa_mad.h"

namespace railweave::fabric::infiniband {

inline constexpr std::size_t kPathRecordBytes = 64;
inline constexpr unsigned kMaxPathHops = 64;

struct Path {
  Lid source = 0, target = 0;
  std::uint16_t key = 0;
  std::uint8_t level = 0, mtu = 0, rate = 0, life = 0;
  bool is_reversible = false;  // packets may come back with the same service level
  friend bool operator==(const Path&, const Path&) = default;
};

// What packets from one end port to a LID of another can be; none: they do not arrive. The level is the routing's own.
struct PathWalk {
  PortPace pace;
  std::uint8_t level = 0;
  friend bool operator==(const PathWalk& a, const PathWalk& b) {
    return a.pace.mtu == b.pace.mtu && a.pace.rate == b.pace.rate && a.level == b.level;
  }
};
std::optional<PathWalk> walk_path(const AdministeredSubnet& subnet, const AdministeredSubnet::EndPort& from, Lid to);

struct PathQuery {
  std::uint64_t mask = 0;
  std::uint64_t source_prefix = 0, target_prefix = 0;
  Guid source_guid, target_guid;
  Lid source_lid = 0, target_lid = 0;
  bool is_reversible = false;
  std::uint8_t number = 0;
  std::uint16_t key = 0;
  std::uint8_t level = 0;
  // 0: more than the value, 1: less, 2: just that, 3: the largest available.
  std::uint8_t mtu_selector = 0, mtu = 0, rate_selector = 0, rate = 0, life_selector = 0, life = 0;

  [[nodiscard]] bool asks(unsigned bit) const { return (mask >> bit & 1U) != 0; }
};
PathQuery read_path_query(std::uint64_t component_mask, std::span<const std::uint8_t, kSaDataBytes> data);

// Appends the paths between two end ports that fit the query, at most that number.
void add_paths(const AdministeredSubnet& subnet, const PathQuery& query, std::uint32_t from, std::uint32_t to,
               std::size_t at_most, std::vector<Path>& paths);

void write_path(std::span<std::uint8_t, kPathRecordBytes> record, const AdministeredSubnet& subnet, const Path& path);
// One record after the other.
std::vector<std::uint8_t> write_paths(const AdministeredSubnet& subnet, std::span<const Path> paths);

}  // namespace railweave::fabric::infiniband
