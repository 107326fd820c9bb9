// The connection to OpenSM's plugin for one subnet: sends it drains and tables of ports, and hands its events to the controller.
#pragma once

#include <memory>
#include <string>

#include "fabric/base/log/log.h"
#include "fabric/drivers/opensm/protocol/policy_server.h"
#include "services/control/live/subnet_controller.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

class OpensmLink {
 public:
  // Listens when it returns. The controller must outlive it.
  static Result<std::unique_ptr<OpensmLink>> start(const std::string& socket_path, SubnetController& controller,
                                                   const log::Log& log);
  // Publishes the state's drains and the tables of ports where they changed. Used by one thread.
  // term: of the process that leads.
  void follow(const ClusterState& state, const SubnetController::OpensmPorts& wanted, std::uint64_t term);

 private:
  explicit OpensmLink(log::Log log) : log_(std::move(log)) {}

  const log::Log log_;
  std::optional<std::uint64_t> view_version_;
  SubnetController::OpensmPorts ports_;
  std::uint64_t revision_ = 0;
  fabric::opensm::RoutingPolicy published_;
  std::unique_ptr<fabric::opensm::PolicyServer> server_;
};

}  // namespace railweave::control
