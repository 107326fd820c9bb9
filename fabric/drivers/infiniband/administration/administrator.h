// Answers what clients ask the subnet's administration. Pure: a request, who sent it, a snapshot of the subnet and what clients have
// registered in; the answer out.
//
// Who may see what. A requester that shows the administration's key sees all. Others see devices, ports, links, tables and paths of
// ports that they share a partition with, and of tables of partition keys their own; both ends of a path share a partition
// in either case. Management keys are in no answer.
#pragma once

#include <cstdint>

#include "fabric/drivers/infiniband/administration/administered_subnet.h"
#include "fabric/drivers/infiniband/administration/multicast_book.h"
#include "fabric/drivers/infiniband/administration/multicast_tables.h"
#include "fabric/drivers/infiniband/administration/sa_answer.h"
#include "fabric/drivers/infiniband/administration/sa_client.h"
#include "fabric/drivers/infiniband/administration/sa_mad.h"
#include "fabric/drivers/infiniband/administration/service_book.h"
#include "fabric/drivers/infiniband/administration/subscription_book.h"

namespace railweave::fabric::infiniband {

// Pairs of end ports that one request may ask about, and that a trusted one may; with more, noResources.
inline constexpr std::size_t kMaxPairs = std::size_t{1} << 16U, kMaxTrustedPairs = std::size_t{1} << 18U;

// What clients have registered.
struct Registrations {
  MulticastBook multicast;
  ServiceBook services;
  SubscriptionBook subscriptions = SubscriptionBook();
  MulticastTablesPtr multicast_tables;  // that switches hold; null: not known
  ServiceBook::TimePoint now;           // for leases; whoever has the registrations keeps it
};

// subnet: null: nothing is known yet, which is answered with `busy`. registrations: null: none are taken, and none told.
SaAnswer administer(const AdministeredSubnet* subnet, const Mad& request, const SaClient& client,
                    Registrations* registrations = nullptr);
// From the queue pair that general management has everywhere.
inline SaAnswer administer(const AdministeredSubnet* subnet, const Mad& request, Lid requester,
                           Registrations* registrations = nullptr) {
  return administer(subnet, request, SaClient{.lid = requester}, registrations);
}

// An answer of kind `datagram`.
Mad to_mad(const SaAnswer& answer);

}  // namespace railweave::fabric::infiniband
