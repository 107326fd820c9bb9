// The plan of one subnet's classes of traffic and partitions, and of the lanes of its routes in direct mode, made from the
// state. Nothing is planned before classes or a contract exist or routes need several lanes: until then ports keep the
// tables they have. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/qos/infiniband_plan.h"
#include "services/control/live/connection/subnet_options.h"
#include "services/control/live/links/subnet_links.h"
#include "services/control/live/ports/administration_keeper.h"
#include "services/control/live/ports/port_keeper.h"
#include "services/control/live/ports/subnet_partitions.h"
#include "services/control/live/status/subnet_status.h"
#include "services/control/state/port_limits.h"

namespace railweave::control {

class SubnetQos {
 public:
  // was_asked: of the topology before. What was written then is taken back when classes and contracts are removed.
  explicit SubnetQos(bool was_asked) : asked_(was_asked) {}
  // The limits of ports may have changed: links came up.
  void reread_limits() { limits_.reset(); }

  struct Basis {
    const ClusterState& state;
    const SubnetLinks& links;
    const fabric::RoutingInput& routing_input;
    const fabric::Routing& routing;
    std::uint64_t routing_version = 0;
    const fabric::FabricView& view;  // of the routes
    bool are_applied = false;        // switches hold them; else they may have those of before as well
    const fabric::FabricDriver& driver;
    bool is_opensm = false;  // one table for all ports; the number of lanes is set as planned, else it is as found
    bool opensm_takes_ports = false;  // its plugin: tables of each port after all, and the number of lanes is as found
    IngressFiltering filtering = IngressFiltering::never;
    ReservedLoads reserved;
  };
  // Plans again where its input differs. True: there is another plan, or another reason why there is none.
  bool plan(const Basis& basis);
  // Before switches get other routes, the basis's: wants ports to let packets of owners of lanes through on them as well.
  void open_for(const Basis& basis);

  // OpenSM writes the tables of each port, as planned.
  [[nodiscard]] bool opensm_writes() const { return from_ && from_->is_opensm && from_->by_port && !error_; }
  // Classes or contracts exist, or did.
  [[nodiscard]] bool is_asked() const { return asked_; }
  // There is something that ports are to have.
  [[nodiscard]] bool keeps_ports() const { return asked_ || has_routes_lanes_; }
  // The plan has these lanes of routes, whatever levels their paths have.
  [[nodiscard]] bool has_lanes_of(const fabric::Lanes& lanes) const;
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }  // why there is no plan
  [[nodiscard]] const fabric::InfinibandPlan& made() const { return plan_; }
  // Jobs whose lanes of their own are in the plan.
  [[nodiscard]] const std::vector<LaneInTables>& lanes() const { return lanes_; }
  [[nodiscard]] bool is_filtered() const { return from_ && from_->users && !error_; }
  [[nodiscard]] std::size_t partitions() const { return from_ ? from_->partitions.tenants.size() : 0; }
  // What ports can hold; none: not asked, or no port was read.
  [[nodiscard]] std::optional<PortLimits> limits() const;
  PortKeeper& ports() { return ports_; }
  // What clients of the subnet's administration are told of it.
  [[nodiscard]] const AdministeredTables& administered();
  [[nodiscard]] const PortKeeper& ports() const { return ports_; }
  // The plan as OpenSM's settings. Errors: no plan, or one that OpenSM cannot express.
  [[nodiscard]] Result<fabric::OpenSmPolicy> opensm_policy(const Basis& basis) const;

 private:
  struct Limits {
    unsigned data_lanes = 0;
    fabric::ArbitrationLimits arbitration{.entries = 0, .mtu_bytes = 0};
    std::vector<fabric::PortId> managers;
    friend bool operator==(const Limits&, const Limits&) = default;
  };
  struct From {
    std::shared_ptr<const fabric::QosClasses> classes;
    SubnetPartitions partitions;
    Limits limits;
    std::uint64_t routing_version = 0, reserved_version = 0;
    std::uint64_t lanes_version = 0;  // of the maps of routes to lanes
    bool has_reserved = false, is_opensm = false, by_port = false, owned_lanes = false;
    std::optional<std::vector<fabric::IngressUser>> users{};  // none: nothing is filtered
    std::map<std::uint8_t, JobId> other_senders{};
    std::uint16_t earlier_levels = 0;
    fabric::LanePassages passages{};
    friend bool operator==(const From&, const From&) = default;
  };
  [[nodiscard]] static bool is_by_port(const Basis& basis);
  [[nodiscard]] static Limits limits_of(const Basis& basis);
  [[nodiscard]] fabric::InfinibandPlanInput input_of(const Basis& basis) const;
  [[nodiscard]] fabric::LanePassages passages_on(const Basis& basis);
  void note_lanes(const fabric::Lanes& lanes);
  bool plan_routes_alone(const Basis& basis);
  void list_lanes(const fabric::Ledger& ledger);

  bool asked_ = false;
  bool has_routes_lanes_ = false;  // the plan has lanes of routes
  fabric::Lanes lanes_of_routes_;  // without levels of paths
  std::uint64_t lanes_version_ = 0;
  std::optional<Limits> limits_;
  std::optional<From> from_;
  std::optional<Error> error_;
  // What passages were last worked out for.
  struct Walked {
    std::uint64_t routing_version = 0, reserved_version = 0;
    bool are_applied = false;
    friend bool operator==(const Walked&, const Walked&) = default;
  };
  std::optional<Walked> walked_;
  fabric::Ledger ledger_;  // of the plan
  fabric::InfinibandPlan plan_;
  std::vector<LaneInTables> lanes_;
  PortKeeper ports_;
  AdministeredTables administered_;
};

}  // namespace railweave::control
