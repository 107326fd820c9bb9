#include "services/control/live/ports/ingress_users.h"

#include <algorithm>

#include "services/control/views/job_ports.h"

namespace railweave::control {

std::vector<fabric::IngressUser> ingress_users(const ClusterState& state) {
  std::vector<fabric::IngressUser> users;
  const auto add = [&](const Job& job) {
    fabric::IngressUser user{.port = {}, .qos_class = {}, .lane = {}, .earlier_levels = job.earlier_levels};
    if (job.guarantee) {
      const auto& classes = *state.qos_classes;
      const auto at = std::ranges::find(classes, job.guarantee->qos_class, &fabric::QosClass::name);
      if (at != classes.end()) user.qos_class = static_cast<std::uint8_t>(at - classes.begin());
      user.lane = job.guarantee->lane;
    }
    for (const fabric::PortId port : job_ports(*state.placement_fabric, job.placement.gpu_of_rank)) {
      user.port = port;
      users.push_back(user);
    }
  };
  for (const JobId id : *state.guaranteed) add(*state.jobs.find(id));
  for (const JobId id : *state.relabelled) {
    if (!state.guaranteed->contains(id)) add(*state.jobs.find(id));
  }
  std::ranges::sort(users);
  return users;
}

std::map<std::uint8_t, JobId> other_senders(const ClusterState& state) {
  std::map<std::uint8_t, JobId> senders;
  for (const JobId id : *state.relabelled) {
    const unsigned lanes = static_cast<unsigned>(state.jobs.find(id)->earlier_levels) >> state.qos_classes->size();
    for (std::uint8_t lane = 0; lanes >> lane != 0; ++lane) {
      if ((lanes >> lane & 1U) != 0) senders.emplace(lane, id);
    }
  }
  for (const JobId id : *state.guaranteed) {
    const JobGuarantee& guarantee = *state.jobs.find(id)->guarantee;
    if (guarantee.at_risk() && guarantee.lane) senders.emplace(*guarantee.lane, id);
  }
  return senders;
}

std::uint16_t earlier_levels(const ClusterState& state) {
  unsigned levels = 0;
  for (const JobId id : *state.relabelled) levels |= state.jobs.find(id)->earlier_levels;
  return static_cast<std::uint16_t>(levels);
}

}  // namespace railweave::control
