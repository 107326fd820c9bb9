// The interface of routing: an engine computes forwarding tables for the present state of a fabric. Engines are pure
// and stateless; one may serve any number of threads. Tables are canonical: they follow from the input alone, never
// from earlier tables, the order in which things were read or the number of threads. How to add an engine:
// fabric/routing/ADDING_AN_ENGINE.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/routing/plane/forwarding_tables.h"
#include "fabric/routing/plane/lanes.h"
#include "fabric/routing/plane/routing_scope.h"
#include "fabric/routing/plane/switch_order.h"
#include "fabric/topology/fabric_view.h"
#include "fabric/topology/finding.h"

namespace railweave::fabric {

struct RoutingInput {
  FabricView view{};
  RoutingScopePtr scope{};  // of view's topology
  // By LinkId, at least 1: the factor by which a link should carry less than its rate allows (2: half); infinity: no
  // transit. Null: FabricView::cost(), at least kDegradedCost for degraded links. Links that are down or drained carry
  // nothing in either case.
  std::shared_ptr<const std::vector<float>> link_cost{};
  // By DestinationId: expected bytes, relative to each other. Null: all alike.
  std::shared_ptr<const std::vector<std::uint32_t>> destination_weight{};
  unsigned max_lanes = 8;  // the number of virtual lanes that deadlock freedom may use
  // Number of threads for planes, or for the rows of one; no result depends on it.
  std::size_t threads = 1;

  static constexpr float kDegradedCost = 4;
};

// What an engine keeps to reroute from. Opaque to all but the engine that made it.
class EngineState {
 public:
  virtual ~EngineState() = default;
};

struct Routing {
  std::string_view engine{};
  ForwardingTables tables{};
  Lanes lanes{};
  std::vector<Finding> findings{};
  std::shared_ptr<const EngineState> state{};
  // By plane: the order of its switches on which all its routes go up and then down, which proves them free of credit
  // loops on one lane. Null: there is no such order.
  std::vector<std::shared_ptr<const SwitchOrder>> orders{};
  // Set by reroute().
  bool incremental = false;         // only what the change affects was computed
  std::size_t changed_entries = 0;  // compared with the tables rerouted from; counted only if incremental
};

// How well an engine suits a fabric as cabled; failures do not change it.
struct EngineFit {
  int score = 0;       // 0: cannot route it; the highest score is chosen
  std::string reason;  // for operators: what in the fabric decides it
};

class RoutingEngine {
 public:
  virtual ~RoutingEngine() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual EngineFit fit(const RoutingScope& scope) const = 0;
  // Whether reroute() computes less than route() does.
  [[nodiscard]] virtual bool incremental() const { return false; }
  // Whether SpreadBasis::hops of a view are used.
  [[nodiscard]] virtual bool takes_chosen_hops() const { return false; }
  // Errors: impossible, where the engine cannot route the fabric at all (a torus engine on a fabric that is no torus).
  // End ports that are cut off are no error: the audit reports them.
  [[nodiscard]] virtual Result<Routing> route(const RoutingInput& input) const = 0;
  // The same tables and lanes as route(input), byte for byte. before: a result of this engine for any earlier input.
  [[nodiscard]] virtual Result<Routing> reroute(const Routing& before, const RoutingInput& input) const {
    (void)before;
    return route(input);
  }
  // The links between switches whose failure may change a route that does not cross them; the failure of any other link
  // changes no other routes than those that cross it. routing: a result of this engine. All links of the plane, unless
  // the engine proves more.
  [[nodiscard]] virtual std::vector<LinkId> far_reaching_links(const Routing& routing, PlaneId plane) const {
    return links_of(routing.tables.scope().plane(plane));
  }
};

}  // namespace railweave::fabric
