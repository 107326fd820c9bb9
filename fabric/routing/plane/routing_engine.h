// The port of this folder: an engine turns a fabric as it is into forwarding tables. Engines are stateless and pure;
// one may serve any number of threads. Tables are canonical: they depend on the input alone, never on earlier tables,
// on the order in which things were read or on the number of threads.
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
  // By LinkId, at least 1: how much less a link should carry than its rate says (2: half); infinity: no transit. None:
  // FabricView::cost(), at least kDegradedCost for degraded links. Links that are down or drained carry nothing either
  // way.
  std::shared_ptr<const std::vector<float>> link_cost{};
  // By DestinationId: expected bytes, relative to each other. None: all alike.
  std::shared_ptr<const std::vector<std::uint32_t>> destination_weight{};
  unsigned max_lanes = 8;  // virtual lanes that deadlock freedom may take
  // Planes, or the rows of one, may be computed side by side on so many threads; no result depends on it.
  std::size_t threads = 1;

  static constexpr float kDegradedCost = 4;
};

// What an engine keeps to reroute from; only the engine that made it knows what is inside.
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
  // By plane; null: none. All routes of the plane go up and then down on this order of its switches, which proves them
  // free of credit loops on one lane.
  std::vector<std::shared_ptr<const SwitchOrder>> orders{};
  // Of the reroute that made it; route() leaves them 0.
  bool incremental = false;         // only what the change touches was computed
  std::size_t changed_entries = 0;  // against the tables rerouted from; counted where incremental
};

// How well an engine suits a fabric as cabled, whatever is down at the moment.
struct EngineFit {
  int score = 0;       // 0: not at all; the highest is chosen
  std::string reason;  // for people: what of the fabric makes it so
};

class RoutingEngine {
 public:
  virtual ~RoutingEngine() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual EngineFit fit(const RoutingScope& scope) const = 0;
  // reroute() computes less than route() does.
  [[nodiscard]] virtual bool incremental() const { return false; }
  // Errors: what the engine cannot route at all (a torus engine on a fabric that is no torus). What is merely cut off
  // is a finding.
  [[nodiscard]] virtual Result<Routing> route(const RoutingInput& input) const = 0;
  // Byte for byte what route(input) gives. `before` is a result of this engine, from any earlier input.
  [[nodiscard]] virtual Result<Routing> reroute(const Routing& before, const RoutingInput& input) const {
    (void)before;
    return route(input);
  }
};

}  // namespace railweave::fabric
