// The forwarding tables of a whole fabric, plane by plane: what engines compute, audits walk and drivers write. A value
// that is cheap to copy: copies share the planes that did not change and the tiles that were not written. Published
// copies are const and may be read by any number of threads; setting a plane needs one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/plane/routing_scope.h"

namespace railweave::fabric {

class ForwardingTables {
 public:
  ForwardingTables() = default;
  explicit ForwardingTables(RoutingScopePtr scope);  // every plane empty: nothing is routed until set_plane()

  [[nodiscard]] const RoutingScope& scope() const { return *scope_; }
  [[nodiscard]] const RoutingScopePtr& scope_ptr() const { return scope_; }

  [[nodiscard]] const PlaneTables& plane(PlaneId id) const { return *planes_[id.index()]; }
  [[nodiscard]] bool shares_plane(const ForwardingTables& other, PlaneId id) const {
    return planes_[id.index()] == other.planes_[id.index()];
  }
  // Precondition: the other's scope numbers the plane alike.
  void share_plane(const ForwardingTables& other, PlaneId id) { planes_[id.index()] = other.planes_[id.index()]; }
  void set_plane(PlaneId id, PlaneTables tables) {
    planes_[id.index()] = std::make_shared<const PlaneTables>(std::move(tables));
  }

  // The egress port of sw for the destination: a port number, kPortZero for its own management port, kNoPort where it
  // drops the packets or the destination is in another plane.
  [[nodiscard]] std::uint16_t out_port(SwitchId sw, DestinationId destination) const;

  friend bool operator==(const ForwardingTables& a, const ForwardingTables& b);
  // Of the tables' shapes and entries; the same on every machine and in every version, because certificates and the
  // OpenSM protocol identify tables by it.
  [[nodiscard]] std::uint64_t digest() const;
  [[nodiscard]] std::uint64_t digest(std::span<const PlaneId> planes) const;  // of these planes, in this order
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  RoutingScopePtr scope_;
  std::vector<std::shared_ptr<const PlaneTables>> planes_;
};

}  // namespace railweave::fabric
