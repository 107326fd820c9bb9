// Whether a job's guarantee fits beside those given, and what enforces it. Pure: what is admitted is put into the
// ledger by the caller, who thereby decides.
//
//   BandwidthAdmission admission(classes, ledger, loads);
//   const AdmissionResult result = admission.admit(contract, request);
//   if (const auto* admitted = std::get_if<Admitted>(&result)) ledger.reserve(admitted->reservation);
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "fabric/capacity/ledger.h"
#include "fabric/capacity/loads_of.h"
#include "fabric/qos/port_promises.h"
#include "fabric/qos/qos_class.h"
#include "scheduler/admission/contract.h"
#include "scheduler/admission/source_cap.h"

namespace railweave::scheduler {

struct BandwidthRequest {
  std::string job;
  std::string qos_class;              // empty: the contract's first, else the plan's first for bandwidth
  std::vector<fabric::PortId> ports;  // adapters' ports of the job
  std::vector<fabric::HosePort>
      receivers;  // of a hose: ports of others that the job's send to as well, what each receives
  std::vector<fabric::PatternFlow> flows;  // of a pattern; rates are the flows' own
  std::uint64_t order = 0;                 // of admission: the event's number
  std::optional<std::uint8_t> lane;        // of its own that it has now, and keeps where it can
};

struct Admitted {
  fabric::ReservationPtr reservation;  // with its load vector
  std::vector<SourceCap> caps;         // what must be set at the job's ports for it to hold
  std::vector<fabric::LinkId> failures_covered, failures_not_covered;  // where it survives one
  std::vector<std::string> warnings;
};

struct Rejected {
  Error reason;  // admission.linksFull, .lanesTaken, .noLanes, .classNotAllowed, .unknownClass, .notConnected, ...
  struct Where {
    std::string link;  // "<port>-><port>"
    fabric::FullLink full;
  };
  std::vector<Where> links;
};

using AdmissionResult = std::variant<Admitted, Rejected>;

class BandwidthAdmission {
 public:
  // Borrows all three. surviving: for contracts that survive a link failure. limits: of the ports' arbitration.
  // owned_lanes: the number of lanes that jobs may have of their own.
  BandwidthAdmission(const fabric::QosClasses& classes, const fabric::Ledger& ledger, fabric::HoseLoads& loads,
                     fabric::SurvivingLoadOf surviving = {}, fabric::ArbitrationLimits limits = {},
                     unsigned routing_lanes = 1, unsigned owned_lanes = 0)
      : classes_(classes),
        ledger_(ledger),
        loads_(loads),
        surviving_(std::move(surviving)),
        promises_(classes, limits, routing_lanes),
        owned_lanes_(owned_lanes) {}

  [[nodiscard]] AdmissionResult admit(const Contract& contract, const BandwidthRequest& request);

 private:
  [[nodiscard]] Result<std::uint8_t> class_of(const Contract& contract, const BandwidthRequest& request) const;
  [[nodiscard]] Rejected full(const Contract& contract, const fabric::Reservation& wanted,
                              std::vector<fabric::FullLink> links) const;
  // Gives it a lane that no other job has on its links, where it has any. A refusal: there is none.
  [[nodiscard]] std::optional<Rejected> take_lane(const BandwidthRequest& request, fabric::Reservation& wanted) const;

  const fabric::QosClasses& classes_;
  const fabric::Ledger& ledger_;
  fabric::HoseLoads& loads_;
  fabric::SurvivingLoadOf surviving_;
  fabric::PortPromises promises_;
  unsigned owned_lanes_;
};

// Any traffic from these ports, each of which sends and receives at most the rate among them, to each other and to
// receivers, which send nothing and may be among them. Ascending, each port once.
std::vector<fabric::HosePort> hose_to(std::span<const fabric::PortId> ports, std::int64_t rate_mbps,
                                      std::span<const fabric::HosePort> receivers);

std::string directed_link_text(const fabric::Topology& topology, fabric::DirectedLink link);

}  // namespace railweave::scheduler
