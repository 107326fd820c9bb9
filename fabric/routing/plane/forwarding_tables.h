// The forwarding tables of a whole fabric, plane by plane. A value that copies cheaply: planes that did not change and
// tiles that were not written are shared. Published copies are const and may be read by any number of threads.
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
  void set_plane(PlaneId id, PlaneTables tables) {
    planes_[id.index()] = std::make_shared<const PlaneTables>(std::move(tables));
  }

  // The port by which sw sends packets for the destination on: a port number, kPortZero for its own management port,
  // kNoPort where it drops them or the destination is in another plane.
  [[nodiscard]] std::uint16_t out_port(SwitchId sw, DestinationId destination) const;

  friend bool operator==(const ForwardingTables& a, const ForwardingTables& b);
  // Of scope shape and content, the same on every machine: names the tables that a certificate was computed from.
  [[nodiscard]] std::uint64_t digest() const;
  [[nodiscard]] std::uint64_t digest(std::span<const PlaneId> planes) const;  // of these, in this order; all: digest()
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  RoutingScopePtr scope_;
  std::vector<std::shared_ptr<const PlaneTables>> planes_;
};

}  // namespace railweave::fabric
