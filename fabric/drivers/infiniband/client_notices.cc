#include "fabric/drivers/infiniband/client_notices.h"

#include "fabric/drivers/infiniband/administration/path_records.h"
#include "fabric/drivers/infiniband/port_writer.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric::infiniband {

Result<void> ClientNotices::send(MadExchange& exchange, SubnetMap& map, const AdministeredSubnet& subnet,
                                 AdministrationReport& report) {
  const auto& planes = subnet.routing().lanes.planes;
  bool are_same = epoch_ != 0 && levels_.size() == planes.size();
  for (std::size_t p = 0; are_same && p < planes.size(); ++p) are_same = levels_[p] == planes[p].path_level;
  if (!are_same) {
    ++epoch_;
    levels_.clear();
    for (const PlaneLanes& plane : planes) levels_.push_back(plane.path_level);
  }
  // What a port that is gone had registered was forgotten.
  std::erase_if(told_, [&](const auto& entry) { return !subnet.is_attached(entry.first); });
  PortWriter writer(exchange, map);
  std::size_t asked = 0, taken = 0;
  for (const AdministeredSubnet::EndPort& end : subnet.end_ports()) {
    const AdministeredSubnet::Node& device = subnet.nodes()[end.node];
    if (device.is_switch()) continue;
    const auto found = map.by_guid.find(device.info.node_guid);
    if (found == map.by_guid.end()) continue;
    const PortInfo& info = map.nodes[found->second].ports[end.number].info;
    if (info.sm_lid != subnet.manager().lid) continue;  // it has no LID of ours yet
    const auto walk = walk_path(subnet, end, subnet.manager().lid);
    if (!walk) continue;  // once it can be reached
    const Told wanted{epoch_, walk->level};
    const auto told = told_.find(end.guid);
    if (told != told_.end() && told->second == wanted) continue;
    ++asked;
    writer.announce(found->second, end.number, walk->level, [this, &taken, guid = end.guid, wanted] {
      told_[guid] = wanted;
      ++taken;
    });
  }
  if (asked == 0) return {};
  auto ran = writer.run_announcements();
  report.announced = taken;
  report.failed = asked - taken;
  return ran;
}

}  // namespace railweave::fabric::infiniband
