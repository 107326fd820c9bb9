#include "fabric/routing/plane/forwarding_tables.h"

#include <utility>

#include "fabric/base/fnv1a.h"

namespace railweave::fabric {

ForwardingTables::ForwardingTables(RoutingScopePtr scope) : scope_(std::move(scope)) {
  for (std::size_t i = 0; i < scope_->planes().size(); ++i) planes_.push_back(std::make_shared<const PlaneTables>());
}

std::uint16_t ForwardingTables::out_port(SwitchId sw, DestinationId destination) const {
  const PlaneId plane = scope_->plane_of(sw);
  if (scope_->plane_of(destination) != plane) return kNoPort;
  const PlaneTables& tables = *planes_[plane.index()];
  const std::size_t s = scope_->local(sw), d = scope_->local(destination);
  return s < tables.switches() && d < tables.destinations() ? tables.at(s, d) : kNoPort;
}

bool operator==(const ForwardingTables& a, const ForwardingTables& b) {
  if (a.planes_.size() != b.planes_.size()) return false;
  for (std::size_t i = 0; i < a.planes_.size(); ++i) {
    if (a.planes_[i] != b.planes_[i] && !(*a.planes_[i] == *b.planes_[i])) return false;
  }
  return true;
}

std::uint64_t ForwardingTables::digest() const {
  const auto all = scope_->planes();
  return digest(std::vector<PlaneId>(all.begin(), all.end()));
}

std::uint64_t ForwardingTables::digest(std::span<const PlaneId> planes) const {
  Fnv1a words;
  std::vector<std::uint16_t> row;
  for (const PlaneId id : planes) {
    const auto& plane = planes_[id.index()];
    words.add(plane->switches());
    words.add(plane->destinations());
    row.resize(plane->destinations());
    for (std::size_t s = 0; s < plane->switches(); ++s) {
      plane->read(s, 0, row.size(), row.data());
      std::size_t i = 0;
      for (; i + 4 <= row.size(); i += 4) {
        words.add(row[i] | std::uint64_t{row[i + 1]} << 16U | std::uint64_t{row[i + 2]} << 32U |
                  std::uint64_t{row[i + 3]} << 48U);
      }
      for (; i < row.size(); ++i) words.add(std::uint64_t{row[i]});
    }
  }
  // Words are hashed whole, so the upper bits are mixed into the lower ones at the end.
  std::uint64_t hash = words.value();
  hash ^= hash >> 32U;
  hash *= 0xd6e8feb86659fd93U;
  return hash ^ hash >> 32U;
}

std::size_t ForwardingTables::memory_bytes() const {
  std::size_t bytes = 0;
  for (const auto& plane : planes_) bytes += plane->memory_bytes();
  return bytes;
}

}  // namespace railweave::fabric
