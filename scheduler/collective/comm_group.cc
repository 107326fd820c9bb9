#include "scheduler/collective/comm_group.h"

namespace railweave::scheduler {

std::uint64_t group_size(const Parallelism& p, CommGroup group) {
  switch (group) {
    case CommGroup::tensor:
      return p.tensor;
    case CommGroup::context:
      return p.context;
    case CommGroup::expert:
      return p.expert;
    case CommGroup::data:
      return std::uint64_t{p.context} * p.expert * p.data;
    case CommGroup::expert_data:
      return std::uint64_t{p.context} * p.data;
    case CommGroup::pipeline:
      return p.pipeline;
    case CommGroup::roles:
      break;
  }
  return 0;
}

const GroupTraffic& traffic_of_group(const TrafficSpec& traffic, CommGroup group) {
  switch (group) {
    case CommGroup::tensor:
      return traffic.tensor;
    case CommGroup::context:
      return traffic.context;
    case CommGroup::expert:
      return traffic.expert;
    case CommGroup::data:
      return traffic.data;
    case CommGroup::expert_data:
      return traffic.expert_data;
    case CommGroup::roles:
      return traffic.roles;
    case CommGroup::pipeline:
      break;
  }
  return traffic.pipeline;
}

bool there_and_back(CommGroup group, const GroupTraffic& traffic) {
  const bool of_gradients = group == CommGroup::data || group == CommGroup::expert_data;
  return group == CommGroup::pipeline || (of_gradients && traffic.exchange == GradientExchange::parameter_servers);
}

}  // namespace railweave::scheduler
