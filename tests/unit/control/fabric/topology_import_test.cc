// What becomes of jobs, drains and reservations when another topology is accepted: nodes are matched by the GUIDs of
// their adapters, what cannot be kept is named by an event, and jobs are repaired where that is asked for.
#include <functional>
#include <random>
#include <set>

#include "fabric/topology/host_match.h"
#include "services/control/decide/decide.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/job_repair.h"
#include "tests/unit/control/control_fixture.h"

namespace railweave::control::topology_import_test {
namespace {

struct PlannedNode {
  std::string name;
  std::uint64_t guid = 0;  // of its adapter
  std::string rack;
  unsigned gpus = 2;
};

fabric::TopologyPtr fabric_of(const std::vector<PlannedNode>& nodes) {
  fabric::TopologyBuilder builder;
  const auto sw =
      builder.add_switch({.guid = Guid(0x100), .name = "leaf-0", .ports = static_cast<unsigned>(nodes.size()) + 1});
  unsigned port = 0;
  for (const auto& node : nodes) {
    const auto host = builder.host(node.name);
    builder.set_rack(host, builder.rack(node.rack));
    const auto hca = builder.add_hca({.guid = Guid(node.guid), .host = host, .device = "mlx5_0"});
    builder.connect({sw, ++port}, {hca, 1}, fabric::infiniband_link(4, fabric::LinkSpeed::ndr));
    const auto domain = builder.nvlink_domain(node.name, "", from_gbps(3600));
    for (unsigned g = 0; g < node.gpus; ++g) {
      const auto gpu = builder.add_gpu(host);
      builder.set_nvlink_domain(gpu, domain);
      builder.add_nic(gpu, hca);
    }
  }
  auto topology = std::move(builder).build();
  RAILWEAVE_CHECK(topology.has_value(), "the nodes are a fabric");
  return std::make_shared<const fabric::Topology>(std::move(*topology));
}

std::vector<PlannedNode> nodes_in_racks(unsigned count) {
  std::vector<PlannedNode> nodes;
  for (unsigned n = 0; n < count; ++n) {
    nodes.push_back({"node-" + std::to_string(n), 0x1000 + n, "rack-" + std::to_string(n / 2)});
  }
  return nodes;
}

class TopologyImportTest : public ControlTest {
 protected:
  void start_on(const std::vector<PlannedNode>& nodes) {
    ControlOptions options;
    options.on_published = [this](const std::vector<db::Record>& records) {
      for (const auto& record : records)
        events_.push_back(record.kind + " " + record.subject_id + " " + record.payload);
    };
    start(std::move(options));
    must(accept(fabric_of(nodes)));
    must(PutTenant{{.name = "research"}, {}});
  }
  CommandResult import(const std::vector<PlannedNode>& nodes, bool repair = false, bool force = false) {
    auto command = accept(fabric_of(nodes), force);
    command.repair = repair;
    return ask(std::move(command));
  }
  JobId submit(SubmitJob command) {
    const auto placed = ask(std::move(command));
    EXPECT_TRUE(placed) << placed.error().error.text();
    return placed ? placed->job : JobId();
  }
  [[nodiscard]] JobPtr job(JobId id) const { return loop_->state()->jobs.find(id); }
  [[nodiscard]] bool told(const std::string& kind, const std::string& part) const {
    return std::ranges::any_of(events_, [&](const std::string& event) {
      return event.starts_with(kind + " ") && event.find(part) != std::string::npos;
    });
  }

  std::vector<std::string> events_;
};

TEST_F(TopologyImportTest, ARenamedNodeKeepsItsJobsItsDrainAndItsReservation) {
  auto nodes = nodes_in_racks(4);
  start_on(nodes);
  auto on_1 = submit_job("research", 2, 1);
  on_1.spec.only_nodes = {"node-1"};
  const JobId id = submit(on_1);
  must(RequestDrain{{DrainKind::node, "node-2"}, "fans", false, {}, loop_->state()->view_version});
  PutReservation put;
  put.name = "firmware";
  put.kind = scheduler::QueueWindow::Kind::maintenance;
  put.from_us = clock_us_ + 3'600'000'000;
  put.to_us = put.from_us + 3'600'000'000;
  put.nodes = {"node-3"};
  must(put);
  for (auto& node : nodes) node.name = "gpu-" + node.name.substr(5);
  std::swap(nodes[0].name, nodes[1].name);  // one is even called as another was
  const auto imported = import(nodes);
  ASSERT_TRUE(imported) << imported.error().error.text();
  EXPECT_EQ(job(id)->nodes, std::vector<std::string>{"gpu-0"});
  EXPECT_TRUE(loop_->state()->drains->contains({DrainKind::node, "gpu-2"}));
  EXPECT_TRUE(loop_->state()->allocations[loop_->state()->topology().find_host("gpu-2").index()].unavailable);
  const auto& window = loop_->state()->reservations->at("firmware").window;
  ASSERT_EQ(window.gpus.size(), 2U);
  EXPECT_EQ(loop_->state()->topology().name(loop_->state()->topology().host(window.gpus.front())), "gpu-3");
  EXPECT_TRUE(told("topology.differs", "node node-2 is called gpu-2 now"));
  // No new job comes to the drained node, nor after a restart.
  const std::string before = state_text();
  stop();
  start();
  EXPECT_EQ(state_text(), before);
  const auto refused = ask(submit_job("research", 2, 3));
  EXPECT_FALSE(refused);
}

TEST_F(TopologyImportTest, AMaintenanceThatLosesNodesIsNamed) {
  auto nodes = nodes_in_racks(4);
  start_on(nodes);
  PutReservation put;
  put.name = "firmware";
  put.kind = scheduler::QueueWindow::Kind::maintenance;
  put.from_us = clock_us_ + 3'600'000'000;
  put.to_us = put.from_us + 3'600'000'000;
  put.nodes = {"node-2", "node-3"};
  must(put);
  nodes.pop_back();
  ASSERT_TRUE(import(nodes));
  EXPECT_EQ(loop_->state()->reservations->at("firmware").window.gpus.size(), 2U);
  EXPECT_TRUE(told("topology.differs", "maintenance 'firmware' loses 2 GPUs on node-3"));
}

TEST_F(TopologyImportTest, ARequiredLevelThatNoLongerHoldsIsNamedAndCanBeRepaired) {
  for (const bool repair : {false, true}) {
    SCOPED_TRACE(repair);
    stop();
    events_.clear();
    auto nodes = nodes_in_racks(4);
    if (!repair) {
      start_on(nodes);
    } else {
      start();
      nodes[1].rack = "rack-0";
      must(accept(fabric_of(nodes), true));
    }
    auto command = submit_job("research", 2, 2);
    command.spec.job.required = fabric::LevelKind::rack;
    command.spec.only_nodes = {"node-0", "node-1", "node-2", "node-3"};
    const JobId id = submit(command);
    ASSERT_EQ(job(id)->nodes.size(), 2U);
    // The racks of the job's second node and of another one are exchanged.
    const std::string moved = job(id)->nodes[1];
    const std::size_t one = static_cast<std::size_t>(moved.back() - '0');
    const std::size_t other = one < 2 ? 2 : 0;
    std::swap(nodes[one].rack, nodes[other].rack);
    ASSERT_TRUE(import(nodes, repair));
    if (!repair) {
      EXPECT_NE(job(id)->damage.whole_text().find("the job is not in one rack"), std::string::npos)
          << job(id)->damage.whole_text();
      EXPECT_TRUE(told("job.damaged", "the job is not in one rack"));
      ASSERT_TRUE(ask(RepairJob{.id = id}));
    }
    EXPECT_TRUE(job_violations(*loop_->state(), *job(id)).empty());
    EXPECT_EQ(job(id)->damage, "");
    EXPECT_NE(job(id)->history.back().reason.whole_text().find("2 ranks move"), std::string::npos)
        << job(id)->history.back().reason.whole_text();
    EXPECT_NE(job(id)->history.back().reason.whole_text().find("(rank "), std::string::npos);
    must(EndJob{id, JobState::completed, ""});
  }
}

TEST_F(TopologyImportTest, RanksLeaveNodesThatAnImportTakesAway) {
  auto nodes = nodes_in_racks(4);
  start_on(nodes);
  const JobId id = submit(submit_job("research", 2, 2));
  const std::string gone = job(id)->nodes.front();
  std::erase_if(nodes, [&](const PlannedNode& node) { return node.name == gone; });
  const auto refused = import(nodes);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "topology.losesJobs");
  ASSERT_TRUE(import(nodes, true));
  EXPECT_EQ(job(id)->state, JobState::placed);
  EXPECT_EQ(std::ranges::count(job(id)->nodes, gone), 0);
  // Where no GPU is left, it is refused, or ends by force.
  const std::vector<PlannedNode> one{nodes.front()};
  const auto none = import(one, true);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().error.message.find("cannot be moved"), std::string::npos);
  ASSERT_TRUE(import(one, true, true));
  EXPECT_EQ(job(id)->state, JobState::lost);
}

// The state after an import equals the one made afresh from the same fabric, or an event names the difference.
TEST_F(TopologyImportTest, AnImportLeavesTheStateOfAFreshStart) {
  std::size_t renamed = 0, lost = 0, kept_jobs = 0;
  for (unsigned seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto chance = [&](unsigned of) { return random() % of == 0; };
    const auto before = nodes_in_racks(4 + random() % 5);
    ClusterState state;
    PlacerCache placers;
    QueueRunner queue(placers, 0);
    std::vector<EventBody> told;
    const auto must_decide = [&](ClusterState& on, decltype(Command::body) body) {
      auto decision = decide(on, {"t", std::move(body)}, 1'000, placers, queue);
      ASSERT_TRUE(decision) << decision.error().error.text();
      for (auto& event : decision->events) {
        apply(on, Event{on.seq + 1, 0, 1'000, "t", event});
        told.push_back(event);
      }
    };
    must_decide(state, accept(fabric_of(before)));
    must_decide(state, PutTenant{{.name = "research"}, {}});
    for (unsigned i = 0; i < 3; ++i) {
      auto command = submit_job("research", 1 + random() % 2, 1 + random() % 2);
      if (chance(3)) command.spec.job.required = fabric::LevelKind::rack;
      if (const auto decision = decide(state, {"t", command}, 1'000, placers, queue)) {
        for (const auto& event : decision->events) apply(state, Event{state.seq + 1, 0, 1'000, "t", event});
      }
    }
    must_decide(state, RequestDrain{{DrainKind::node, "node-1"}, "", true, {}, state.view_version});
    must_decide(state, RequestDrain{{DrainKind::gpu, "node-2:1"}, "", true, {}, state.view_version});

    auto after = before;
    for (auto& node : after) {
      if (chance(4)) node.name = "renamed-" + std::to_string(node.guid), ++renamed;
      if (chance(6)) node.rack = "rack-0";
    }
    if (chance(2)) after.pop_back();
    std::ranges::shuffle(after, random);
    told.clear();
    must_decide(state, accept(fabric_of(after), true));

    // Afresh: the same fabric, then the jobs where their nodes are now, and the drains of those that are left.
    ClusterState fresh;
    fresh.set_topology(fabric_of(after));
    const auto now_called = [&](const std::string& name) {
      for (const auto& node : after) {
        if (node.guid == 0x1000 + std::stoul(name.substr(5))) return node.name;
      }
      return std::string();
    };
    state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      if (job->state == JobState::lost) ++lost;
      if (!job->holds_gpus()) return true;
      ++kept_jobs;
      fresh.hold_gpus(*job, true);
      for (const auto& node : job->nodes) EXPECT_TRUE(fresh.topology().find_host(node));
      EXPECT_EQ(job->nodes, node_names(fresh.topology(), job->placement.gpu_of_rank));
      const bool named = std::ranges::any_of(told, [&](const EventBody& event) {
        const auto* damaged = std::get_if<JobDamaged>(&event);
        return damaged != nullptr && damaged->id == job->id;
      });
      EXPECT_EQ(named, !job_violations(state, *job).empty()) << job->damage.whole_text();
      return true;
    });
    for (const DrainTarget& target :
         {DrainTarget{DrainKind::node, "node-1"}, DrainTarget{DrainKind::gpu, "node-2:1"}}) {
      const std::string name = now_called(std::string(node_of(target)));
      if (name.empty()) continue;
      const DrainTarget now{target.kind, name + (target.kind == DrainKind::gpu ? ":1" : "")};
      fresh.mark(now, true);
      EXPECT_TRUE(state.drains->contains(now)) << to_string(now);
    }
    for (std::size_t host = 0; host < fresh.allocations.size(); ++host) {
      EXPECT_EQ(state.allocations[host], fresh.allocations[host]) << fresh.topology().name(fabric::HostId(host));
    }
  }
  EXPECT_GT(renamed, 50U);
  EXPECT_GT(lost, 3U);
  EXPECT_GT(kept_jobs, 50U);
}

}  // namespace
}  // namespace railweave::control::topology_import_test
