// Where no subnet is configured: a fabric known from files alone.
#pragma once

#include "services/control/live/live_fabric.h"

namespace railweave::control {

class NoLiveFabric final : public LiveFabric {
 public:
  [[nodiscard]] std::vector<SubnetStatusPtr> subnets() const override { return {}; }
  [[nodiscard]] SubnetStatusPtr subnet(std::string_view) const override { return nullptr; }
  void ask(std::string_view subnet, Request, Completion done) override {
    done(fail(ErrorKind::conflict, "subnets.notLive",
              "there is no live connection to subnet '" + std::string(subnet) + "'", {},
              "configure one: [[subnet]] in railweaved's configuration"));
  }
  [[nodiscard]] std::optional<PortCounters> counters(const fabric::Topology&, fabric::PortId) const override {
    return std::nullopt;
  }
};

}  // namespace railweave::control
