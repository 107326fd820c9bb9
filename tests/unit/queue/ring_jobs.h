// Jobs that want one host and a fabric of hosts of 8 GPUs, two to a leaf: what places are worth waiting for. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "tests/unit/queue/simulated_cluster.h"

namespace railweave::scheduler::testing_support {

inline PlacementFabricPtr networked_fabric(const std::string& hosts) {
  auto topology = fabric::generate(
      "fat-tree",
      {{"hosts", hosts}, {"hosts-per-leaf", "2"}, {"nics-per-host", "1"}, {"hosts-per-rack", "2"}, {"radix", "16"}});
  EXPECT_TRUE(topology) << topology.error().text();
  return std::make_shared<const PlacementFabric>(std::make_shared<const fabric::Topology>(std::move(*topology)));
}

// A ring of all its GPUs that sends much: as fast as NVLink on one host, far slower over several.
inline SimulatedJob ring(QueueJobId id, std::uint32_t gpus, std::int64_t arrives_s, std::int64_t runs_s) {
  SimulatedJob job = simulated_job(id, 1, gpus, arrives_s, runs_s);
  job.spec.traffic = TrafficSpec{};
  job.spec.traffic->data = {.bytes = 1e9, .calls = 1};
  return job;
}

}  // namespace railweave::scheduler::testing_support
