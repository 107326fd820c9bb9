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

std::uint16_t shared_lanes(const ClusterState& state) {
  unsigned lanes = 0;
  for (const JobId id : *state.relabelled) lanes |= state.jobs.find(id)->earlier_levels >> state.qos_classes->size();
  for (const JobId id : *state.guaranteed) {
    const JobGuarantee& guarantee = *state.jobs.find(id)->guarantee;
    if (guarantee.at_risk() && guarantee.lane) lanes |= 1U << *guarantee.lane;
  }
  return static_cast<std::uint16_t>(lanes);
}

std::optional<JobId> other_sender(const ClusterState& state, std::uint8_t lane, JobId owner) {
  const std::size_t level = state.qos_classes->size() + lane;
  for (const JobId id : *state.relabelled) {
    if (id != owner && (state.jobs.find(id)->earlier_levels >> level & 1U) != 0) return id;
  }
  for (const JobId id : *state.guaranteed) {
    const JobGuarantee& other = *state.jobs.find(id)->guarantee;
    if (id != owner && other.at_risk() && other.lane == lane) return id;
  }
  return std::nullopt;
}

}  // namespace railweave::control
