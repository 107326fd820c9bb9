// What switches of a live subnet let in from adapters while jobs with lanes of their own come and go: read back from every
// port and compared with what the ranks of the jobs there are told to send with, which is noted here when they start.
#include <map>
#include <random>
#include <set>

#include "services/control/views/guarantee_book.h"
#include "tests/unit/live/subnet_qos_fixture.h"

namespace railweave::control {
namespace {

class IngressFilterTest : public SubnetQosTest {
 protected:
  IngressFilterTest() {
    reserved_ = [this](const ClusterState& state) -> Result<ReservedLoads> {
      if (state.guaranteed->empty()) return ReservedLoads{};
      if (auto brought = book_.bring_to(state); !brought) return std::unexpected(brought.error());
      return ReservedLoads{&book_.ledger(), book_.version()};
    };
  }
  void contract(const std::string& tenant, scheduler::Isolation isolation, bool survives = false) {
    must(PutTenant{{.name = tenant}, {}});
    scheduler::Contract terms{.tenant = tenant, .guaranteed = RateMbps(1'000)};
    terms.isolation = isolation;
    terms.survives_link_failure = survives;
    must(PutContract{terms, {}, true});
  }
  // Places a job and notes the level that its ranks are told; none where there is no room.
  JobId start(const std::string& tenant, std::uint32_t nodes) {
    const auto placed = ask(submit_job(tenant, 2, nodes));
    if (!placed) return {};
    const JobPtr job = loop_->state()->jobs.find(placed->job);
    told_[placed->job] = {level_of(*job)};
    return placed->job;
  }
  void end(JobId job) {
    must(EndJob{job, JobState::completed, "", {}});
    told_.erase(job);
  }
  [[nodiscard]] unsigned level_of(const Job& job) const {
    const auto state = loop_->state();
    if (!job.guarantee) return 0;
    if (job.guarantee->lane) return static_cast<unsigned>(state->qos_classes->size()) + *job.guarantee->lane;
    for (unsigned c = 0; c + 1 < state->qos_classes->size(); ++c) {
      if ((*state->qos_classes)[c].name == job.guarantee->qos_class) return c + 1;
    }
    return 0;
  }
  // The levels that may come in from an adapter, by the jobs there.
  [[nodiscard]] std::set<unsigned> wanted(fabric::HostId host) const {
    const auto state = loop_->state();
    std::set<unsigned> levels{0, 2, 5};  // of unmarked packets, management and storage
    for (const auto& [id, told] : told_) {
      const JobPtr job = state->jobs.find(id);
      const bool is_here = std::ranges::any_of(job->placement.gpu_of_rank,
                                               [&](fabric::GpuId gpu) { return topology_->host(gpu) == host; });
      if (is_here) levels.insert(told.begin(), told.end());
    }
    return levels;
  }
  void expect_filtered(const std::string& when) {
    ASSERT_TRUE(status()->qos && status()->qos->is_filtered) << when;
    ASSERT_EQ(status()->qos->ports_pending, 0U) << when;
    const auto& t = *topology_;
    for (const auto sw : t.switches()) {
      for (const auto out : t.ports(sw)) {
        if (!t.peer(out)) continue;
        const auto tables = read({t.guid(sw), static_cast<std::uint8_t>(t.number(out))});
        for (const auto in : t.ports(sw)) {
          const auto peer = t.peer(in);
          if (!peer || t.is_switch_port(peer)) {
            continue;
          }
          const auto map = tables.sl_to_vl_from(static_cast<unsigned>(t.number(in)));
          const auto levels = wanted(t.host(t.hca_of(peer)));
          for (unsigned level = 0; level < 8; ++level) {  // of the lanes of the ports here
            const bool enters = map[level] != fabric::kDropLane;
            // The class of a job that has a lane is let in too: its own.
            if (enters && !levels.contains(level) && level < 6 && is_class_of_job_at(t.host(t.hca_of(peer)), level))
              continue;
            ASSERT_EQ(enters, levels.contains(level)) << when << ": " << t.port_text(in) << " level " << level;
          }
        }
      }
    }
  }
  [[nodiscard]] bool is_class_of_job_at(fabric::HostId host, unsigned level) const {
    const auto state = loop_->state();
    return std::ranges::any_of(told_, [&](const auto& one) {
      const JobPtr job = state->jobs.find(one.first);
      if (!job->guarantee || (*state->qos_classes)[level - 1].name != job->guarantee->qos_class) return false;
      return std::ranges::any_of(job->placement.gpu_of_rank,
                                 [&](fabric::GpuId gpu) { return topology_->host(gpu) == host; });
    });
  }
  // Pairs of the job's hosts between which its packets are lost or discarded, by what switches hold now.
  [[nodiscard]] std::size_t dropped_pairs(const Job& job) {
    const auto& t = *topology_;
    const auto routes = routes_.at(*loop_->state());
    const std::vector<fabric::SwitchId> all(t.switches().begin(), t.switches().end());
    const auto readings = switches_->read_tables(t, all, top_lid((*routes)->scope()));
    const auto tables = with_readings((*routes)->routing, *readings).tables;
    const fabric::PathWalker walker(fabric::FabricView(topology_), tables);
    std::set<fabric::PortId> ports;
    for (const auto gpu : job.placement.gpu_of_rank) {
      for (const auto& nic : loop_->state()->placement_fabric->gpu_nics().nics(gpu)) ports.insert(nic.port);
    }
    std::size_t dropped = 0;
    for (const auto from : ports) {
      for (const auto to : ports) {
        std::vector<fabric::DirectedLink> path;
        if (from == to) continue;
        bool passes = walker.append({from, to}, path);
        for (std::size_t hop = 1; hop < path.size(); ++hop) {
          const auto in = t.peer(fabric::out_port_of(t, path[hop - 1])), out = fabric::out_port_of(t, path[hop]);
          const auto held = read({t.guid(t.switch_of(out)), static_cast<std::uint8_t>(t.number(out))});
          passes =
              passes && held.sl_to_vl_from(static_cast<unsigned>(t.number(in)))[level_of(job)] != fabric::kDropLane;
        }
        dropped += passes ? 0 : 1;
      }
    }
    return dropped;
  }
  // Pairs of the job's hosts that forwarding tables join over links that are there, and whose packets a map discards on the way.
  [[nodiscard]] std::size_t discarded_pairs(const Job& job, std::size_t& carried) {
    const auto& t = *topology_;
    const auto routes = routes_.at(*loop_->state());
    const auto& scope = (*routes)->scope();
    std::set<fabric::PortId> ports;
    for (const auto gpu : job.placement.gpu_of_rank) {
      for (const auto& nic : loop_->state()->placement_fabric->gpu_nics().nics(gpu)) ports.insert(nic.port);
    }
    std::size_t discarded = 0;
    for (const auto from : ports) {
      for (const auto to : ports) {
        if (from == to) continue;
        bool passes = true, arrives = false;
        auto in = t.peer(from);
        for (int hops = 0; hops < 8 && t.is_switch_port(in); ++hops) {
          const auto sw = t.switch_of(in);
          const auto number = switches_->out_port(t.guid(sw), scope.lid(scope.find(to)));
          fabric::PortId out;
          for (const auto port : t.ports(sw)) {
            if (t.number(port) == number) out = port;
          }
          if (!out || !t.peer(out) || t.link(out) == cut_) break;
          const auto held = read({t.guid(sw), static_cast<std::uint8_t>(number)});
          passes =
              passes && held.sl_to_vl_from(static_cast<unsigned>(t.number(in)))[level_of(job)] != fabric::kDropLane;
          in = t.peer(out);
          arrives = in == to;
        }
        carried += arrives ? 1 : 0;
        discarded += arrives && !passes ? 1 : 0;
      }
    }
    return discarded;
  }
  GuaranteeBook book_;
  std::map<JobId, std::set<unsigned>> told_;
  fabric::LinkId cut_;  // none: all are there
};

TEST_F(IngressFilterTest, FollowsTheJobsThatAreThere) {
  start_live(kTree);
  contract("red", scheduler::Isolation::lane);
  contract("blue", scheduler::Isolation::planned);
  settle();
  settle_ports();
  expect_filtered("without jobs");
  std::mt19937_64 random(3);
  std::vector<JobId> running;
  std::size_t placed = 0, moved = 0;
  for (int round = 0; round < 25; ++round) {
    if (running.size() < 2 || random() % 3 != 0) {
      const JobId job = start(random() % 3 == 0 ? "blue" : "red", 1 + static_cast<std::uint32_t>(random() % 4));
      if (job != JobId()) running.push_back(job), ++placed;
    } else {
      const auto at = static_cast<std::ptrdiff_t>(random() % running.size());
      end(running[static_cast<std::size_t>(at)]);
      running.erase(running.begin() + at);
    }
    const auto before = switches_->table_writes().size();
    settle_ports();
    expect_filtered("round " + std::to_string(round));
    for (auto at = before; at < switches_->table_writes().size(); ++at)
      moved += switches_->table_writes()[at].changed_in_ports ? 1 : 0;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(placed, 8U);
  EXPECT_GT(moved, 20U) << "ports of which only some input ports were written";
  // What is written is what a controller that starts afresh wants.
  const auto writes = switches_->table_writes().size();
  make_controller();
  settle();
  settle_ports();
  expect_filtered("after a restart");
  EXPECT_EQ(switches_->table_writes().size(), writes);
}

// Ranks keep the level that they were started with, whatever becomes of their contract: nothing of theirs is dropped.
TEST_F(IngressFilterTest, RunningRanksAreNotCutOffByANewContract) {
  start_live(kTree);
  contract("red", scheduler::Isolation::lane);
  contract("other", scheduler::Isolation::lane);
  settle();
  const JobId job = start("red", 3);
  ASSERT_NE(job, JobId());
  settle_ports();
  ASSERT_EQ(told_[job], std::set<unsigned>{6}) << "its first lane";
  EXPECT_EQ(loop_->state()->jobs.find(job)->earlier_levels, 0U);
  contract("red", scheduler::Isolation::planned);
  settle_ports();
  EXPECT_EQ(loop_->state()->jobs.find(job)->earlier_levels, 1U << 6U);
  expect_filtered("as its ranks still send on the lane");
  must(PutContract{{.tenant = "red"}, {}, true});
  told_[job].insert(3);  // as ranks that began meanwhile were told its class
  settle_ports();
  EXPECT_FALSE(loop_->state()->jobs.find(job)->guarantee);
  expect_filtered("without a guarantee");
  // Whoever gets that lane does not have it alone.
  const JobId next = start("other", 3);
  ASSERT_NE(next, JobId());
  settle_ports();
  ASSERT_EQ(told_[next], std::set<unsigned>{6});
  ASSERT_EQ(status()->qos->lanes.size(), 1U);
  EXPECT_EQ(status()->qos->lanes[0].other_sender, to_string(job));
  end(job);
  settle_ports();
  ASSERT_EQ(status()->qos->lanes.size(), 1U);
  EXPECT_EQ(status()->qos->lanes[0].other_sender, "");
  expect_filtered("in the end");
}

// A lane is closed to links where its owner is not after any one failure. A drain of a switch changes routes beyond that: not
// one of the job's packets is dropped meanwhile, after whichever write they are walked.
TEST_F(IngressFilterTest, DrainsOfSwitchesDropNoPackets) {
  start_live({.hosts_per_leaf = 1, .leaves_per_pod = 4, .spines_per_pod = 4, .leaf_cables = 2, .gpus_per_host = 4});
  contract("red", scheduler::Isolation::lane, true);
  settle();
  const JobId id = start("red", 6);
  settle_ports();
  const auto& t = *topology_;
  const JobPtr job = loop_->state()->jobs.find(id);
  ASSERT_TRUE(job && job->guarantee && job->guarantee->covered);
  ASSERT_EQ(dropped_pairs(*job), 0U);
  std::size_t changed_ports = 0, looks = 0;
  std::string doing;
  written_ = [&] {
    ++looks;
    EXPECT_EQ(dropped_pairs(*job), 0U) << doing;
  };
  for (const auto sw : t.switches()) {
    if (t.tier(sw) == 0) continue;
    const DrainTarget spine{DrainKind::network_switch, std::string(t.name(sw))};
    const auto writes = switches_->table_writes().size();
    doing = "drain of " + spine.id;
    must(RequestDrain{spine, {}, true, {}, loop_->state()->view_version});
    settle_ports();
    changed_ports += switches_->table_writes().size() - writes;
    doing = spine.id + " is back";
    must(ClearDrain{spine, {}});
    settle_ports();
  }
  written_ = nullptr;
  EXPECT_GT(changed_ports, 5U);
  EXPECT_GT(looks, 20U);
}

// Lanes are closed to what comes by links that their owners are not on, also of jobs that survive no failure: before switches get
// other routes, ports are opened for them. Not one packet of a job that forwarding tables carry is dropped by a map, after whichever
// write it is walked, while links and spines fail, come back, are drained and released.
TEST_F(IngressFilterTest, ChangesOfRoutesDropNoPackets) {
  start_live({.hosts_per_leaf = 2, .leaves_per_pod = 6, .spines_per_pod = 4, .leaf_cables = 1, .gpus_per_host = 4});
  contract("red", scheduler::Isolation::lane);
  settle();
  std::vector<JobPtr> jobs;
  for (int job = 0; job < 4; ++job) {
    const JobId id = start("red", 6);
    if (id != JobId()) jobs.push_back(loop_->state()->jobs.find(id));
  }
  ASSERT_GE(jobs.size(), 3U) << "so that two of them have a lane of the same number";
  settle_ports();
  const auto& t = *topology_;
  std::size_t looks = 0, carried = 0;
  std::string doing;
  const auto look = [&] {
    ++looks;
    for (const JobPtr& job : jobs) {
      const JobPtr now = loop_->state()->jobs.find(job->id);
      if (now->guarantee->lane != job->guarantee->lane || now->guarantee->at_risk()) continue;  // it sends on as before
      EXPECT_EQ(discarded_pairs(*job, carried), 0U) << doing << ", " << to_string(job->id);
    }
  };
  look();
  written_ = look;
  std::size_t links = 0;
  for (std::size_t n = 0; links < 6; n += 3, ++links) {
    const auto cable = uplink(n);
    doing = t.link_text(cable.link) + " fails";
    cut_ = cable.link;
    cut(cable);
    settle();
    settle_ports();
    doing = t.link_text(cable.link) + " is back";
    cut_ = {};
    join(cable);
    settle();
    settle_ports();
  }
  for (const auto sw : t.switches()) {
    if (t.tier(sw) == 0) continue;
    const DrainTarget spine{DrainKind::network_switch, std::string(t.name(sw))};
    doing = "drain of " + spine.id;
    must(RequestDrain{spine, {}, true, {}, loop_->state()->view_version});
    settle_ports();
    doing = spine.id + " is back";
    must(ClearDrain{spine, {}});
    settle_ports();
  }
  written_ = nullptr;
  EXPECT_GT(looks, 60U);
  EXPECT_GT(carried, 1000U);
  // What was opened for routes that are gone is closed: a controller that starts afresh finds nothing to write.
  const auto writes = switches_->table_writes().size();
  make_controller();
  settle();
  settle_ports();
  EXPECT_EQ(switches_->table_writes().size(), writes);
}

// Also where nothing is filtered any more, and where the classes are fewer than they were.
TEST_F(IngressFilterTest, LevelsOfRunningRanksAreNotUnused) {
  start_live(kTree);
  contract("red", scheduler::Isolation::lane);
  settle();
  const JobId job = start("red", 3);
  settle_ports();
  ASSERT_EQ(told_[job], std::set<unsigned>{6});
  const auto drops = [&](unsigned level) {
    return std::ranges::any_of(cabled_ports(),
                               [&](const Place& at) { return (*read(at.ref).sl_to_vl)[level] == fabric::kDropLane; });
  };
  contract("red", scheduler::Isolation::planned);
  settle_ports();
  ASSERT_FALSE(status()->qos->is_filtered);
  EXPECT_FALSE(drops(6)) << "without a contract for lanes";
  must(PutContract{{.tenant = "red"}, {}, true});
  settle_ports();
  EXPECT_FALSE(drops(6)) << "without guarantees";
  auto classes = fabric::default_qos_classes();
  classes.erase(classes.begin(), classes.begin() + 2);
  must(PutQosClasses{classes, {}});
  settle_ports();
  EXPECT_FALSE(drops(6)) << "with other classes";
  EXPECT_TRUE(drops(7)) << "which no rank was told";
  end(job);
  settle_ports();
  EXPECT_TRUE(drops(6)) << "when they are gone";
}

TEST_F(IngressFilterTest, IsThereWhileAContractAsksForIsolation) {
  start_live(kTree);
  contract("blue", scheduler::Isolation::planned);
  settle();
  settle_ports();
  ASSERT_TRUE(status()->qos);
  EXPECT_FALSE(status()->qos->is_filtered);
  for (const auto isolation : {scheduler::Isolation::lane, scheduler::Isolation::within_class}) {
    contract("red", isolation);
    settle_ports();
    start("red", 6);
    settle_ports();
    expect_filtered("with a contract for isolation");
    end(told_.begin()->first);
    must(RemoveContract{"red", {}});
    settle_ports();
    EXPECT_FALSE(status()->qos->is_filtered);
    for (const Place& at : cabled_ports()) {
      const auto tables = read(at.ref);
      for (unsigned in = 0; in < 40; ++in) EXPECT_EQ(tables.sl_to_vl_from(in), *tables.sl_to_vl);
    }
  }
}

}  // namespace
}  // namespace railweave::control
