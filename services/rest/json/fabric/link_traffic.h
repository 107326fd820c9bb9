// GET /v1/links/{id}/traffic: which routes cross a link, and which jobs send over it.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "services/control/views/contention_book.h"
#include "services/control/views/link_crossings.h"

namespace railweave::api {

struct LinkTraffic {
  // Of each direction: Topology::a() to b(), and back.
  struct Direction {
    std::optional<control::LinkCrossings> crossings;      // none: the fabric cannot be routed
    std::optional<control::ContentionBook::OnLink> jobs;  // none: still being worked out
  };
  std::array<Direction, 2> directions;
};

std::string write_link_traffic(const control::ClusterState& state, fabric::LinkId link, const LinkTraffic& traffic,
                               const control::FabricRoutes* routes);

}  // namespace railweave::api
