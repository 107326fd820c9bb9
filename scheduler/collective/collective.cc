#include "scheduler/collective/collective.h"

namespace railweave::scheduler {

std::string_view to_string(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "allReduce";
    case CollectiveKind::reduce_scatter:
      return "reduceScatter";
    case CollectiveKind::all_gather:
      return "allGather";
    case CollectiveKind::all_to_all:
      return "allToAll";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::reduce:
      return "reduce";
    case CollectiveKind::point_to_point:
      return "pointToPoint";
    case CollectiveKind::barrier:
      return "barrier";
  }
  return "";
}

std::string_view to_string(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::ring:
      return "ring";
    case CollectiveAlgorithm::tree:
      return "tree";
    case CollectiveAlgorithm::halving_doubling:
      return "halvingDoubling";
    case CollectiveAlgorithm::hierarchical:
      return "hierarchical";
    case CollectiveAlgorithm::direct:
      return "direct";
    case CollectiveAlgorithm::in_network:
      return "inNetwork";
    case CollectiveAlgorithm::parameter_server:
      return "parameterServer";
  }
  return "";
}

double bus_factor(CollectiveKind kind, std::uint64_t ranks) {
  if (ranks < 2) return 0;
  const auto n = static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
      return (n - 1) / n;
    default:
      return 1;
  }
}

}  // namespace railweave::scheduler
