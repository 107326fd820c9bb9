// Classes of jobs: intensities by hand, cuts into classes, and weights that a port's table has.
#include "services/railweave/lab/replay/job_classes.h"

#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "scheduler/collective/training_step.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "services/railweave/lab/replay/job_trace.h"
#include "services/railweave/lab/replay/replay_routes.h"

namespace railweave::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(JobClasses, IntensityIsOfTheFullestLink) {
  auto made =
      fabric::generate("fat-tree", {{"hosts", "8"}, {"hosts-per-leaf", "4"}, {"nics-per-host", "1"}, {"radix", "16"}});
  ASSERT_TRUE(made) << made.error().text();
  const scheduler::PlacementFabric fabric(std::make_shared<const fabric::Topology>(std::move(*made)));
  const auto routes = replay_routes(fabric);
  const fabric::PathWalker walker(routes->view, routes->routing.tables);
  const auto capacity_mbps = fabric::link_capacities_mbps(routes->view);
  std::vector<fabric::PortId> ports;
  for (const auto gpu : fabric.topology().gpus()) {
    const auto port = fabric.gpu_ports().of(gpu).front();
    if (ports.empty() || ports.back() != port) ports.push_back(port);
  }
  ASSERT_EQ(ports.size(), 8U);
  const scheduler::JobSpec spec = heavy_job_spec(16);
  // The first host's cable carries 1 and 2 MB outwards, every other link at most 2: 3 MB at 400 Gb/s are 60 us.
  const std::vector<scheduler::PortFlow> flows{{{ports[0], ports[1]}, 1e6}, {{ports[0], ports[5]}, 2e6}};
  EXPECT_NEAR(gpu_intensity(spec, flows, walker, capacity_mbps), scheduler::step_flops(*spec.model) / 60,
              1e-9 * scheduler::step_flops(*spec.model));
  EXPECT_EQ(gpu_intensity(spec, {}, walker, capacity_mbps), 0);
}

TEST(JobClasses, AreCutsOfTheOrder) {
  EXPECT_THAT(job_classes({}, 4), IsEmpty());
  EXPECT_THAT(job_classes(std::vector<double>{7}, 4), ElementsAre(0));
  EXPECT_THAT(job_classes(std::vector<double>{1, 9, 5, 5}, 2), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(job_classes(std::vector<double>{1, 2, 3, 4, 5}, 8), ElementsAre(6, 4, 3, 1, 0));
}

TEST(JobClasses, WeightsDouble) {
  for (unsigned classes = 2; classes <= kMaxJobClasses; ++classes) {
    const auto weights = class_weights(classes);
    ASSERT_EQ(weights.size(), classes);
    for (unsigned c = 0; c + 1 < classes; ++c) EXPECT_GT(weights[c], weights[c + 1]) << classes << " classes";
    if (classes <= 4) {
      for (unsigned c = 0; c + 1 < classes; ++c) EXPECT_NEAR(weights[c] / weights[c + 1], 2, 0.1);
    }
  }
}

}  // namespace
}  // namespace railweave::cli
