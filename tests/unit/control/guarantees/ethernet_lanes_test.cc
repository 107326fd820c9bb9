// Lanes of jobs' own on Ethernet: given where contracts ask for them, on routes of Railweave's own; what ports then are to
// promise and to admit, by the jobs alone.
#include "fabric/capacity/lane_owners.h"
#include "fabric/qos/ethernet_plan.h"
#include "services/rest/json/guarantees/guarantee.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::ethernet_lanes_test {
namespace {

using fabric::EthernetPort;
using fabric::PortId;
using testing::Cluster;

scheduler::Contract lanes_of(std::int64_t gbps) {
  auto contract = testing::terms(gbps);
  contract.isolation = scheduler::Isolation::lane;
  return contract;
}

SubmitJob on_nodes(const std::vector<unsigned>& nodes) {
  auto job = Cluster::job("t", static_cast<std::uint32_t>(nodes.size()));
  for (const unsigned node : nodes) job.spec.only_nodes.push_back("node-" + std::to_string(node));
  return job;
}

Cluster roce() { return Cluster(testing::leaves_and_spines(2, 4, 2, 4, {}, fabric::ethernet_link(from_gbps(400)))); }

TEST(EthernetLanesOfJobs, AreGivenByLinksAndRefusedWithTheirOwners) {
  Cluster cluster = roce();
  cluster.contract(lanes_of(10));
  cluster.must(on_nodes({0, 4}));
  EXPECT_EQ(cluster.guarantee(cluster.last_job).lane, 0);
  const JobId first = cluster.last_job;
  cluster.must(on_nodes({0, 4}));
  EXPECT_EQ(cluster.guarantee(cluster.last_job).lane, 1) << "on the same links";
  cluster.must(on_nodes({1, 2}));
  EXPECT_EQ(cluster.guarantee(cluster.last_job).lane, 0) << "on others";
  const auto refused = cluster.ask(on_nodes({0, 5}));
  ASSERT_FALSE(refused) << "there are two";
  EXPECT_EQ(refused.error().error.code, "admission.lanesTaken");
  EXPECT_FALSE(refused.error().links.empty());
  cluster.must(EndJob{first, JobState::completed, {}, {}});
  cluster.must(on_nodes({0, 5}));
  EXPECT_EQ(cluster.guarantee(cluster.last_job).lane, 0);
  // More classes leave none.
  auto classes = fabric::default_qos_classes();
  for (const std::uint8_t dscp : {50, 51}) {
    auto one = classes[2];
    one.name = "more-" + std::to_string(dscp);
    one.share_permille = 1;
    one.dscp = dscp;
    classes.insert(classes.end() - 1, one);
  }
  const auto taken = cluster.ask(PutQosClasses{classes, {}});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().error.code, "qosClasses.jobsDoNotFit");
}

// Every port, against sums over jobs: what lanes and classes get, and who may mark packets with what.
TEST(EthernetLanesOfJobs, PortsPromiseOwnersAndAdmitOnlyThem) {
  Cluster cluster = roce();
  cluster.contract(lanes_of(20));
  std::vector<JobId> jobs;
  for (const std::vector<unsigned>& nodes : {std::vector<unsigned>{0, 4}, {0, 1, 4}, {2, 3}, {5, 6}}) {
    cluster.must(on_nodes(nodes));
    jobs.push_back(cluster.last_job);
  }
  GuaranteeBook book;
  ASSERT_TRUE(book.bring_to(cluster.state));
  const auto& t = cluster.state.topology();
  std::size_t lanes = 0, admitted = 0, ports = 0;
  for (const auto sw : t.switches()) {
    for (const EthernetPort& port : plan_ethernet(book.classes(), book.ledger(), cluster.state.view, sw).ports) {
      ++ports;
      const auto out = fabric::directed_link(t, port.port);
      std::int64_t sum = 0;
      for (const auto& queue : port.queues) {
        sum += queue.rate.value();
        if (!queue.lane) continue;
        ++lanes;
        std::int64_t reserved = 0;
        for (const auto& held : book.ledger().reservations_of(queue.job)) reserved = fabric::load_on(held->loads, out);
        EXPECT_GT(reserved, 0);
        EXPECT_GE(queue.rate.value() * 95, reserved * 100) << "with headers";
        EXPECT_LE(queue.rate.value() * 95, reserved * 100 + 95);
      }
      EXPECT_LE(sum, port.link.value());
      EXPECT_EQ(port.faces_host, !t.is_switch_port(t.peer(port.port)));
      if (!port.faces_host) {
        EXPECT_TRUE(port.admitted.empty());
      }
      for (const auto& mark : port.admitted) {
        ++admitted;
        const auto reservation = book.ledger().reservations_of(mark.job).front();
        EXPECT_EQ(mark.dscp, fabric::lane_dscp(book.classes(), *reservation->lane));
        std::set<PortId> others;
        for (const auto& one : reservation->ports) others.insert(one.port);
        EXPECT_EQ(others.erase(t.peer(port.port)), 1U) << "a job on that host";
        EXPECT_EQ(std::set<PortId>(mark.destinations.begin(), mark.destinations.end()), others);
      }
    }
  }
  EXPECT_EQ(ports, 16U) << "8 to hosts, and 4 cables between switches from both ends";
  EXPECT_EQ(admitted, 9U) << "one for each job and host of it";
  EXPECT_GT(lanes, admitted) << "and between switches";
  // Ranks mark packets as their ports admit them.
  for (const JobId id : jobs) {
    const auto& job = *cluster.state.jobs.find(id);
    EXPECT_EQ(api::job_dscp(cluster.state, *job.guarantee, job.placement.gpu_of_rank),
              fabric::lane_dscp(book.classes(), *job.guarantee->lane));
  }
}

}  // namespace
}  // namespace railweave::control::ethernet_lanes_test
