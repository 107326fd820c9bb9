// A small fabric of leaves and spines, and commands about guarantees, decided and applied without a store.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "fabric/topology/topology_builder.h"
#include "gtest/gtest.h"
#include "services/control/decide/decide.h"
#include "services/control/events/apply.h"

namespace railweave::control::testing {

// Every leaf joined to every spine by one 400 Gb/s cable; hosts of one adapter and `gpus` GPUs, "node-0" first. The
// adapters of the hosts in `uncabled` have no cable.
inline fabric::TopologyPtr leaves_and_spines(
    unsigned leaves, unsigned hosts_per_leaf, unsigned spines, unsigned gpus, const std::set<unsigned>& uncabled = {},
    const fabric::LinkSpec& cable = fabric::infiniband_link(4, fabric::LinkSpeed::ndr)) {
  fabric::TopologyBuilder builder;
  std::vector<decltype(builder.add_switch({}))> top;
  for (unsigned s = 0; s < spines; ++s) {
    top.push_back(builder.add_switch({.guid = Guid(0x200 + s), .name = "spine-" + std::to_string(s), .ports = leaves}));
  }
  for (unsigned l = 0; l < leaves; ++l) {
    const auto leaf = builder.add_switch(
        {.guid = Guid(0x100 + l), .name = "leaf-" + std::to_string(l), .ports = hosts_per_leaf + spines});
    for (unsigned h = 0; h < hosts_per_leaf; ++h) {
      const unsigned number = l * hosts_per_leaf + h;
      const auto host = builder.host("node-" + std::to_string(number));
      const auto hca = builder.add_hca({.guid = Guid(0x1000 + number), .host = host, .device = "mlx5_0"});
      if (!uncabled.contains(number)) builder.connect({leaf, h + 1}, {hca, 1}, cable);
      for (unsigned g = 0; g < gpus; ++g) builder.add_nic(builder.add_gpu(host), hca);
    }
    for (unsigned s = 0; s < spines; ++s) builder.connect({leaf, hosts_per_leaf + s + 1}, {top[s], l + 1}, cable);
  }
  auto topology = std::move(builder).build();
  RAILWEAVE_CHECK(topology.has_value(), "it is a fabric");
  return std::make_shared<const fabric::Topology>(std::move(*topology));
}

// A contract of tenant t in two classes.
inline scheduler::Contract terms(std::int64_t gbps, bool survives = false) {
  scheduler::Contract contract{.tenant = "t", .guaranteed = RateMbps(gbps * 1000)};
  contract.classes = {"all-reduce", "all-to-all"};
  contract.survives_link_failure = survives;
  return contract;
}

class Cluster {
 public:
  explicit Cluster(fabric::TopologyPtr topology) {
    EXPECT_TRUE(ask(AcceptTopology{std::move(topology), nullptr, "digest", "test", false, {}}));
  }

  // Decides the command, applies its events and returns them.
  std::expected<std::vector<EventBody>, Rejection> ask(decltype(Command::body) body) {
    now_us += 1000;
    QueueRunner queue(placers, 0);
    auto decision = decide(state, {"tester", std::move(body)}, now_us, placers, queue);
    if (!decision) return std::unexpected(std::move(decision.error()));
    for (const auto& event : decision->events) apply(state, Event{state.seq + 1, 1, now_us, "tester", event});
    if (decision->job != JobId()) last_job = decision->job;
    return std::move(decision->events);
  }
  void must(decltype(Command::body) body) {
    const auto done = ask(std::move(body));
    ASSERT_TRUE(done) << done.error().error.text();
  }
  void contract(scheduler::Contract terms) {
    if (!state.tenants->contains(terms.tenant)) {
      const auto highest =
          std::ranges::max_element(state.queue_rules->policy.classes, {}, &scheduler::PriorityClass::value);
      must(PutTenant{{.name = terms.tenant, .max_priority = highest->name}, {}});
    }
    must(PutContract{std::move(terms), {}});
  }
  // Classes so that `lanes` are left of the 15 that ports have where none has reported its own.
  void leave_lanes(unsigned lanes) {
    fabric::QosClasses classes = fabric::default_qos_classes();
    while (classes.size() < 15 - lanes) {
      auto one = classes[2];
      one.name = "more-" + std::to_string(classes.size());
      one.share_permille = 1;
      one.dscp = static_cast<std::uint8_t>(49 + classes.size());
      classes.insert(classes.end() - 1, one);
    }
    must(PutQosClasses{classes, {}});
  }
  // One GPU on each of `hosts` hosts.
  static SubmitJob job(const std::string& tenant, std::uint32_t hosts, const std::string& priority = "normal") {
    SubmitJob command;
    command.spec.name = "job";
    command.spec.tenant = tenant;
    command.spec.priority = priority;
    command.spec.parallelism.data = hosts;
    command.spec.gpus_per_node = 1;
    return command;
  }
  static ReportLinks report(const std::string& link, fabric::LinkState to) { return {"default", {{link, to, false}}}; }
  // The cable between two switches.
  [[nodiscard]] std::string cable(const std::string& a, const std::string& b) const {
    const auto& t = state.topology();
    for (const auto link : t.links()) {
      if (!t.joins_switches(link)) continue;
      const std::set<std::string> ends{std::string(t.name(t.switch_of(t.a(link)))),
                                       std::string(t.name(t.switch_of(t.b(link))))};
      if (ends == std::set<std::string>{a, b}) return t.link_text(link);
    }
    return {};
  }
  [[nodiscard]] const JobGuarantee& guarantee(JobId id) const { return *state.jobs.find(id)->guarantee; }

  ClusterState state;
  PlacerCache placers;
  JobId last_job;
  std::int64_t now_us = 1'700'000'000'000'000;
};

}  // namespace railweave::control::testing
