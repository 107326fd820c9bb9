#include "fabric/routing/opensm/table_rows.h"

#include <algorithm>

namespace railweave::fabric {
namespace {

constexpr std::uint8_t kNotCounted = UINT8_MAX - 1;
constexpr std::uint8_t kOnTrail = UINT8_MAX - 2;
constexpr std::uint8_t kMaxLinks = UINT8_MAX - 4;

}  // namespace

bool TableRows::next_switch() {
  if (plane_ != nullptr && ++switch_ < plane_->switch_count()) return true;
  return next_plane();
}

bool TableRows::next_plane() {
  const RoutingScope& scope = tables_.scope();
  const auto planes = scope.planes();
  for (; next_plane_ < planes.size(); ++next_plane_) {
    const PlaneId id(static_cast<std::uint32_t>(next_plane_));
    plane_ = &scope.plane(id);
    if (tables_.plane(id).destinations() != plane_->destination_count() || plane_->switch_count() == 0) continue;
    read_plane();
    ++next_plane_;
    switch_ = 0;
    return true;
  }
  plane_ = nullptr;
  return false;
}

void TableRows::read_plane() {
  const RoutingScope& scope = tables_.scope();
  const PlaneTables& tables = tables_.plane(PlaneId(static_cast<std::uint32_t>(next_plane_)));
  const std::size_t switches = plane_->switch_count(), destinations = plane_->destination_count();
  by_lid_.clear();
  for (std::uint32_t d = 0; d < destinations; ++d) {
    if (const Lid lid = scope.lid(plane_->destination(d)); lid != 0) by_lid_.emplace_back(lid, d);
  }
  std::ranges::sort(by_lid_);
  ports_.resize(switches * destinations);
  for (std::size_t s = 0; s < switches; ++s) tables.read(s, 0, destinations, ports_.data() + s * destinations);
  const std::size_t stride = plane_->max_ports + std::size_t{1};
  arcs_.assign(switches * stride, Plane::kNone);
  for (std::size_t s = 0; s < switches; ++s) {
    for (std::uint32_t a = plane_->first_arc[s]; a < plane_->first_arc[s + 1]; ++a) {
      arcs_[s * stride + plane_->arcs[a].port] = plane_->arcs[a].to;
    }
  }
  links_.assign(switches * destinations, kNotCounted);
  for (std::uint32_t d = 0; d < destinations; ++d) count_links(d);
}

// From every switch, each step of a route counted once: what is known of the next switch gives the rest.
void TableRows::count_links(std::uint32_t destination) {
  const std::size_t destinations = plane_->destination_count(), stride = plane_->max_ports + std::size_t{1};
  const auto at = [&](std::size_t s) { return s * destinations + destination; };
  links_[at(plane_->homes[plane_->destination_home[destination]].sw)] = 0;
  for (std::uint32_t from = 0; from < plane_->switch_count(); ++from) {
    trail_.clear();
    std::uint32_t s = from;
    while (s != Plane::kNone && links_[at(s)] == kNotCounted) {
      links_[at(s)] = kOnTrail;
      trail_.push_back(s);
      const std::uint16_t port = ports_[at(s)];
      s = port < stride ? arcs_[s * stride + port] : Plane::kNone;
    }
    std::uint8_t links = s == Plane::kNone || links_[at(s)] == kOnTrail ? kLost : links_[at(s)];
    for (auto step = trail_.rbegin(); step != trail_.rend(); ++step) {
      links = links >= kMaxLinks ? kLost : static_cast<std::uint8_t>(links + 1);
      links_[at(*step)] = links;
    }
  }
}

Guid TableRows::guid() const { return tables_.scope().topology().guid(plane_->switches[switch_]); }

}  // namespace railweave::fabric
