// GET /v1/jobs/{id}/ports: whether the ports that a job sends through have the tables for its class, partition and keys.
#pragma once

#include <functional>
#include <string>

#include "services/control/live/status/port_progress.h"
#include "services/control/live/status/subnet_status.h"

namespace railweave::control {
struct ClusterState;
struct Job;
}  // namespace railweave::control

namespace railweave::api {

// What is known of one of the job's subnets.
struct LivePorts {
  control::SubnetStatusPtr status;  // null: no connection is configured
  control::PortProgress progress;
};
using FindLivePorts = std::function<LivePorts(const std::string& subnet)>;

// Its ports are those of its adapters, and those of switches at the other ends of their cables.
std::string write_job_ports(const control::ClusterState& state, const control::Job& job, const FindLivePorts& live);

}  // namespace railweave::api
