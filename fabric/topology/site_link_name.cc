#include "fabric/topology/site_link_name.h"

#include <fmt/core.h>

namespace railweave::fabric {
namespace {

// With "/n" where others join the same sites: they are neighbours in the table.
std::string between(const Topology& topology, SiteLinkId link, bool reversed) {
  const auto links = topology.site_links();
  const std::size_t at = link.index();
  const auto same = [&](std::size_t i) { return links[i].a == links[at].a && links[i].b == links[at].b; };
  std::size_t first = at, end = at + 1;
  while (first > 0 && same(first - 1)) --first;
  while (end < links.size() && same(end)) ++end;
  const SiteId a = reversed ? links[at].b : links[at].a, b = reversed ? links[at].a : links[at].b;
  std::string text = fmt::format("{}--{}", topology.name(a), topology.name(b));
  if (end - first > 1) text += fmt::format("/{}", at - first + 1);
  return text;
}

}  // namespace

std::string site_link_text(const Topology& topology, SiteLinkId link) {
  std::string text = between(topology, link, false);
  return topology.find_link(text) ? "wan:" + text : text;
}

SiteLinkId find_site_link(const Topology& topology, std::string_view text) {
  for (const SiteLinkId link : site_link_ids(topology)) {
    if (text == site_link_text(topology, link)) return link;
  }
  for (const SiteLinkId link : site_link_ids(topology)) {
    const std::string reversed = between(topology, link, true);
    if (text == reversed && !topology.find_link(reversed)) return link;
  }
  return {};
}

}  // namespace railweave::fabric
