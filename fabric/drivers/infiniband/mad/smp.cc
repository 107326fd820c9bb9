#include "fabric/drivers/infiniband/mad/smp.h"

#include <algorithm>

namespace railweave::fabric::infiniband {

namespace {

constexpr std::size_t kHopPointer = 6, kHopCount = 7, kManagementKey = 24, kSourceLid = 32, kDestinationLid = 34;
constexpr std::size_t kInitialPath = 128;
constexpr std::uint16_t kPermissiveLid = 0xffff;  // directed from the first to the last hop

}  // namespace

Mad directed_smp(const DirectedRoute& route, MadMethod method, Attribute attribute, std::uint32_t modifier,
                 std::uint64_t management_key) {
  Mad mad{};
  write_header(mad, {.management_class = MadClass::subnetDirected,
                     .method = method,
                     .status = 0,
                     .transaction = 0,
                     .attribute = attribute,
                     .modifier = modifier});
  mad[kHopPointer] = 0;
  mad[kHopCount] = static_cast<std::uint8_t>(route.hops());
  write_be(mad, kManagementKey, 8, management_key);
  write_be(mad, kSourceLid, 2, kPermissiveLid);
  write_be(mad, kDestinationLid, 2, kPermissiveLid);
  // Entry 0 of the path is not used.
  for (std::size_t i = 0; i < route.hops(); ++i) mad[kInitialPath + 1 + i] = route.hop(i);
  return mad;
}

Mad lid_routed_smp(MadMethod method, Attribute attribute, std::uint32_t modifier, std::uint64_t management_key) {
  Mad mad{};
  write_header(mad, {.management_class = MadClass::subnetLidRouted,
                     .method = method,
                     .status = 0,
                     .transaction = 0,
                     .attribute = attribute,
                     .modifier = modifier});
  write_be(mad, kManagementKey, 8, management_key);
  return mad;
}

std::uint64_t management_key(const Mad& mad) { return read_be(mad, kManagementKey, 8); }
void set_management_key(Mad& mad, std::uint64_t key) { write_be(mad, kManagementKey, 8, key); }

DirectedRoute route_of(const Mad& mad) {
  DirectedRoute route;
  const std::size_t hops = std::min<std::size_t>(mad[kHopCount], DirectedRoute::kMaxHops);
  for (std::size_t i = 0; i < hops; ++i) route = route.extended(mad[kInitialPath + 1 + i]);
  return route;
}

}  // namespace railweave::fabric::infiniband
