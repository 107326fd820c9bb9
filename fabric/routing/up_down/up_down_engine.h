// The engines fat-tree and up-down: routes that go up and then down, on any fabric. They are free of credit loops on
// one lane, complete (everything connected is routed, end ports on spines included) and incremental. On trees the
// ranking is given by the tree and ports by the closed form (slot_plan.h); on other fabrics the best of several
// rankings is used, and up-down tries one more of them than fat-tree. Stateless; any number of threads may use one.
#pragma once

#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

class UpDownEngine final : public RoutingEngine {
 public:
  enum class Flavor : unsigned char { fat_tree, up_down };
  explicit UpDownEngine(Flavor flavor) : flavor_(flavor) {}

  [[nodiscard]] std::string_view name() const override { return flavor_ == Flavor::fat_tree ? "fat-tree" : "up-down"; }
  [[nodiscard]] EngineFit fit(const RoutingScope& scope) const override;
  [[nodiscard]] bool incremental() const override { return true; }
  [[nodiscard]] bool takes_chosen_hops() const override { return true; }
  [[nodiscard]] Result<Routing> route(const RoutingInput& input) const override;
  [[nodiscard]] Result<Routing> reroute(const Routing& before, const RoutingInput& input) const override;
  // Few on trees (far_reaching_links.h), all on other fabrics. O(end-port homes x arcs).
  [[nodiscard]] std::vector<LinkId> far_reaching_links(const Routing& routing, PlaneId plane) const override;

 private:
  Flavor flavor_;
};

}  // namespace railweave::fabric
