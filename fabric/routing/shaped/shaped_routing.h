// What the engines for particular shapes share: routes for planes of another shape, findings about detours, and writing
// tables column by column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fabric/routing/plane/live_plane.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/routing/plane/routing_engine.h"
#include "fabric/routing/shaped/detour_lanes.h"

namespace railweave::fabric {

// Routes a plane up and down, as the fat-tree and up-down engines do, and appends it to `routing`.
void route_up_down(const RoutingInput& input, PlaneId id, Routing& routing);
// Appends a plane with its findings.
void add_shaped_plane(const RoutingInput& input, PlaneId id, PlaneTables tables, PlaneLanes lanes,
                      const DetourOutcome& outcome, Routing& routing);
// Whether a plane that does not have the shape is a tree (or one switch), for which up and down is the right choice.
bool is_tree(const Plane& plane);

// Collects entries by destination and writes them by switch. Serves one thread.
class ColumnWriter {
 public:
  ColumnWriter(const Plane& plane, PlaneTables& tables);
  ~ColumnWriter() { flush(); }
  ColumnWriter(const ColumnWriter&) = delete;
  ColumnWriter& operator=(const ColumnWriter&) = delete;

  // The buffer for the entries of the next destination, from 0 on, by switch; valid until the next call.
  [[nodiscard]] std::uint16_t* next();

 private:
  static constexpr std::size_t kColumns = 64;
  void flush();
  template <class Entry>
  void flush_as();

  const Plane& plane_;
  PlaneTables& tables_;
  std::vector<std::uint16_t> columns_;
  std::size_t first_ = 0, count_ = 0;
};

}  // namespace railweave::fabric
