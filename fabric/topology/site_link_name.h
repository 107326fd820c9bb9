// The ids of long-haul links: "east--west" by the names of the sites, in their order; where several entries of
// Topology::site_links() join the same two, "east--west/1", "east--west/2", ... in the order of the table. An id that is
// a cable's as well has "wan:" before it.
#pragma once

#include <string>
#include <string_view>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

std::string site_link_text(const Topology& topology, SiteLinkId link);
// Also with the sites in the other order. None: there is no such link. O(links between sites).
SiteLinkId find_site_link(const Topology& topology, std::string_view text);
inline IdRange<SiteLinkId> site_link_ids(const Topology& topology) { return {0, topology.site_links().size()}; }

}  // namespace railweave::fabric
