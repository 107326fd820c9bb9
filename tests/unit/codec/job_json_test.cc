// Jobs as the journal keeps them: what is written is read again the same, by name of node, and what was written before
// jobs had all the fields of today is read, too.
#include "services/control/codec/job_json.h"

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "scheduler/placement/placer.h"
#include "services/control/events/apply.h"

namespace railweave::api::job_json_test {
namespace {

scheduler::PlacementFabricPtr fabric() {
  auto topology = fabric::generate("rail-optimized", {{"hosts", "4"}});
  EXPECT_TRUE(topology) << topology.error().text();
  return std::make_shared<const scheduler::PlacementFabric>(
      std::make_shared<const fabric::Topology>(std::move(*topology)));
}

TEST(JobJson, WhatAJobHoldsAndAsksForSurvivesARoundTrip) {
  const auto on = fabric();
  control::Job job;
  job.id = control::JobId(7);
  job.spec.parallelism = {.tensor = 2, .data = 2};
  job.spec.exclusive = fabric::LevelKind::node;
  job.spec.spares_per_domain = 1;
  job.spec.spread = scheduler::SpreadLimit{fabric::LevelKind::node, 2};
  job.spec.cpu_roles = {{"driver", 1, 0}, {"loader", 4, 2}};
  job.spec.peers = {{6, "prefill", false, 2.5e9, scheduler::RoleSpread::by_rank, true},
                    {8, "router", true, 1, {}, false}};
  scheduler::Placer placer(on);
  auto result = placer.place(job.spec);
  ASSERT_EQ(result.outcome, scheduler::Outcome::placed) << result.explanation.message;
  job.placement = std::move(result.placement);
  ASSERT_EQ(job.placement.idle_gpus.size(), 12U) << "two nodes, two ranks on each";
  job.nodes = control::node_names(on->topology(), job.placement.gpu_of_rank);

  const Json written = Json::parse(job_to_json(job, on->topology()).dump());
  EXPECT_EQ(written["idle"].size(), 2U) << written["idle"].dump();
  const auto again = job_from_json(written, on->topology());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ((*again)->spec, job.spec);
  EXPECT_EQ((*again)->placement.gpu_of_rank, job.placement.gpu_of_rank);
  EXPECT_EQ((*again)->placement.idle_gpus, job.placement.idle_gpus);
  EXPECT_EQ((*again)->placement.held_gpus().size(), 16U);
  ASSERT_EQ(job.placement.cpu_seats.size(), 2U);
  EXPECT_EQ((*again)->placement.cpu_seats, job.placement.cpu_seats);
}

TEST(JobJson, RecordsOfOlderVersionsAreRead) {
  const auto on = fabric();
  const std::string first(on->topology().name(fabric::HostId(0)));
  // As jobs were written before there were predictions, idle GPUs, spares and groups of their own.
  const Json old = {{"number", 3},
                    {"spec",
                     {{"name", "llama"},
                      {"tenant", "research"},
                      {"priority", "normal"},
                      {"parallelism", {{"tensor", 2}, {"pipeline", 1}, {"data", 1}, {"context", 1}, {"expert", 1}}},
                      {"topology", {{"tensor", {{"required", "nvlinkDomain"}}}}}}},
                    {"state", "placed"},
                    {"submittedUs", 1700000000000000},
                    {"endedUs", 0},
                    {"idempotencyKey", ""},
                    {"requestDigest", ""},
                    {"level", "node"},
                    {"nodesUsed", 1},
                    {"domainsUsed", 1},
                    {"groupsAtLevel", 1},
                    {"dataRingsOnRails", true},
                    {"ranks", Json::array({Json::array({first, Json::array({0, 1})})})},
                    {"nodes", Json::array({first})},
                    {"history", Json::array()},
                    {"version", 12}};
  const auto job = job_from_json(Json::parse(old.dump()), on->topology());
  ASSERT_TRUE(job) << job.error().text();
  EXPECT_EQ((*job)->placement.gpu_of_rank.size(), 2U);
  EXPECT_TRUE((*job)->placement.idle_gpus.empty());
  EXPECT_FALSE((*job)->placement.predicted);
  EXPECT_FALSE((*job)->spec.exclusive);
  EXPECT_EQ((*job)->spec.spares_per_domain, 0U);
  EXPECT_FALSE((*job)->spec.spread);
  // And what was written then is written today, beside what is new.
  Json again = Json::parse(job_to_json(**job, on->topology()).dump());
  for (const auto& [name, value] : old.items()) EXPECT_EQ(again[name], value) << name;
}

TEST(JobJson, IdleGpusThatAreNoneAreUnreadable) {
  const auto on = fabric();
  control::Job job;
  job.id = control::JobId(1);
  job.placement.gpu_of_rank = {on->topology().gpus(fabric::HostId(0))[0]};
  job.placement.idle_gpus = {on->topology().gpus(fabric::HostId(0))[1]};
  Json written = Json::parse(job_to_json(job, on->topology()).dump());
  ASSERT_TRUE(job_from_json(written, on->topology()));
  written["idle"][0][1] = Json::array({8});
  EXPECT_FALSE(job_from_json(written, on->topology()));
  written["idle"] = "all";
  EXPECT_FALSE(job_from_json(written, on->topology()));
}

}  // namespace
}  // namespace railweave::api::job_json_test
