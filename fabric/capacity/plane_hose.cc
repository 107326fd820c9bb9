#include "fabric/capacity/plane_hose.h"

#include "fabric/base/mix.h"

namespace railweave::fabric {

PlaneHose::PlaneHose(const ForwardingTables& tables, const EgressMap& egress)
    : egress_(egress),
      all_tables_(tables),
      scope_(tables.scope()),
      first_hops_(scope_.topology().switches().size(), egress.class_count()) {}

void PlaneHose::read(PlaneId plane, std::span<const HoseTarget> targets) {
  targets_.assign(targets.begin(), targets.end());
  groups_.clear();
  group_of_target_.clear();
  columns_.clear();
  sources_.clear();
  unrouted_ = 0;
  tables_ = &all_tables_.plane(plane);
  const Plane& in = scope_.plane(plane);
  port_count_ = in.max_ports + 1U;
  for (const HoseTarget& target : targets_) {
    const SwitchId home = scope_.destination(target.id).home;
    if (groups_.empty() || groups_.back().sw != home.value()) {
      groups_.push_back({.sw = home.value(), .digest = {.fingerprint = mix(home.value()), .groups = 1}});
      const Home& own = in.homes[in.home_of[scope_.local(home)]];
      sources_.push_back({.sw = home.value(),
                          .row = scope_.local(home),
                          .switch_class = egress_.class_of(home.value()),
                          .first_column = own.first,
                          .column_count = own.count});
    }
    groups_.back().digest.send_mbps += target.send_mbps;
    group_of_target_.push_back(static_cast<std::uint32_t>(groups_.size() - 1));
    columns_.push_back(scope_.local(target.id));
  }
  first_hops_.read(*tables_, sources_, columns_, group_of_target_);
}

void PlaneHose::note_unrouted(std::size_t target, std::size_t group) {
  if (groups_[group].digest.send_mbps == 0) return;  // its ports only receive
  ++unrouted_;
  groups_[group].unrouted_receive_mbps += targets_[target].receive_mbps;
  targets_[target].unrouted_send_mbps += groups_[group].digest.send_mbps;
}

}  // namespace railweave::fabric
