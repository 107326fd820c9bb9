#include <algorithm>

#include <fmt/core.h>

#include "services/railweave/assess/charts.h"
#include "services/railweave/assess/headroom.h"
#include "services/railweave/assess/sections.h"
#include "services/railweave/terminal/formatted.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kGroupsShown = 24;
constexpr double kFull = 0.999;

}  // namespace

ReportSection headroom_section(const SiteView& site) {
  ReportSection section{.id = "headroom", .title = "Bandwidth that could be promised"};
  const auto rooms = headroom(*site.topology, site.locality);
  if (!site.own || rooms.empty()) {
    section.text = "Rates are not known, so nothing can be promised.";
    return section;
  }
  Json groups = Json::array();
  std::vector<Bar> bars;
  std::vector<std::string> short_groups;
  for (const GroupRoom& room : rooms) {
    groups.push_back({{"group", room.group},
                      {"hosts", room.hosts},
                      {"hostGbps", room.host_gbps},
                      {"uplinkGbps", room.uplink_gbps},
                      {"share", room.share()}});
    if (room.share() < kFull) short_groups.push_back(room.group);
    const double each = room.host_gbps / static_cast<double>(room.hosts);
    if (bars.size() < kGroupsShown) {
      bars.push_back({room.group, formatted("%.0f", room.share() * each) + formatted(" of %.0f Gb/s a host", each),
                      room.share(), room.share() < kFull});
    }
  }
  section.data["groups"] = std::move(groups);
  section.text = fmt::format(
      "What the uplinks of each leaf group leave to each of its hosts when all of them send out of it at once, the "
      "least first{}. Routes that spread unevenly give less.",
      rooms.size() > kGroupsShown ? fmt::format(" ({} more groups)", rooms.size() - kGroupsShown) : "");
  section.pictures.push_back(bars_chart("Bandwidth out of each leaf group", bars));
  if (!short_groups.empty()) {
    section.advice.push_back({"oversubscribed", "info",
                              fmt::format("{} of {} leaf groups have less bandwidth up than their hosts have",
                                          short_groups.size(), rooms.size()),
                              "certain, as far as rates and cables are as told",
                              "hosts of the first can be promised " +
                                  formatted("%.0f %%", 100 * rooms.front().share()) + " of their rate out of the group",
                              "keep what communicates much inside a group; add uplinks where jobs are larger",
                              site.commands.part(".sections.headroom.groups"), short_groups});
  }
  return section;
}

}  // namespace railweave::cli
