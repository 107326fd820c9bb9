#include "fabric/routing/shaped/shaped_routing.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/routing/plane/switch_order.h"
#include "fabric/routing/up_down/up_down_tables.h"

namespace railweave::fabric {

void route_up_down(const RoutingInput& input, PlaneId id, Routing& routing) {
  const Plane& plane = input.scope->plane(id);
  UpDownTables result = up_down_tables(input, plane, live_plane(plane, input), true);
  routing.tables.set_plane(id, std::move(result.tables));
  routing.lanes.planes.emplace_back();
  routing.orders.push_back(std::move(result.order));
  std::ranges::move(result.findings, std::back_inserter(routing.findings));
}

void add_shaped_plane(const RoutingInput& input, PlaneId id, PlaneTables tables, PlaneLanes lanes,
                      const DetourOutcome& outcome, Routing& routing) {
  const std::string name(input.scope->topology().name(input.scope->plane(id).switches.front()));
  if (outcome.all_up_and_down) {
    routing.findings.push_back({"shapeAbandoned",
                                Severity::warning,
                                fmt::format("failures force detours that need more than {} lanes; the whole plane is "
                                            "routed up and down, which is slower",
                                            input.max_lanes),
                                {name}});
  } else if (outcome.on_levels + outcome.up_and_down > 0) {
    routing.findings.push_back(
        {"detours",
         Severity::info,
         fmt::format(
             "{} paths make detours around failures, and {} destinations are routed up and down; lanes in use: {}",
             outcome.on_levels, outcome.up_and_down, lanes.lanes),
         {name}});
  }
  routing.tables.set_plane(id, std::move(tables));
  routing.lanes.planes.push_back(std::move(lanes));
  routing.orders.push_back(outcome.order);
}

bool is_tree(const Plane& plane) { return plane.switch_count() == 1 || is_layered(plane, tier_ranking(plane)); }

ColumnWriter::ColumnWriter(const Plane& plane, PlaneTables& tables)
    : plane_(plane), tables_(tables), columns_(plane.switch_count() * kColumns) {
  tables_ = PlaneTables(plane.switch_count(), plane.destination_count(), plane.max_ports);
}

std::uint16_t* ColumnWriter::next() {
  if (count_ == kColumns) flush();
  return columns_.data() + plane_.switch_count() * count_++;
}

void ColumnWriter::flush() {
  if (tables_.wide()) {
    flush_as<std::uint16_t>();
  } else {
    flush_as<std::uint8_t>();
  }
  first_ += count_;
  count_ = 0;
}

template <class Entry>
void ColumnWriter::flush_as() {
  const std::size_t switches = plane_.switch_count();
  for (std::size_t s = 0; s < switches; ++s) {
    Entry* row = tables_.fresh_row<Entry>(s) + first_;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::uint16_t port = columns_[i * switches + s];
      row[i] = port == kNoPort ? PlaneTables::entry_none<Entry>() : static_cast<Entry>(port);
    }
  }
}

}  // namespace railweave::fabric
