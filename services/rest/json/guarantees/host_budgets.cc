#include "services/rest/json/guarantees/host_budgets.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "fabric/qos/qos_class.h"
#include "services/control/views/job_ports.h"
#include "services/json/contract_object.h"
#include "services/json/digest.h"
#include "services/json/strict_json.h"
#include "services/rest/json/guarantees/guarantee.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using control::NodeAgents;
using control::PortBudget;

constexpr std::size_t kMaxReadings = 4'096, kMaxFlows = 4'096;

auto agent_times() {
  return several(with<"pollSeconds">(NodeAgents::kPoll_ms / 1000),
                 with<"expiresAfterSeconds">(NodeAgents::kExpires_ms / 1000));
}

auto port_of_device(const fabric::Topology& t, fabric::PortId port) {
  return several(with<"device">(t.device(t.hca_of(port))), with<"port">(t.port_text(port)));
}

Out flows_json(const fabric::Topology& t, const PortBudget& budget) {
  Out flows = Out::array();
  for (const control::FlowBudget& flow : budget.flows) {
    flows.push_back(object<"NodeBudgets.items.flows">(with<"node">(t.name(t.host(t.hca_of(flow.peer)))),
                                                      port_of_device(t, flow.peer), with<"sendMbps">(flow.send_mbps),
                                                      with<"receiveMbps">(flow.receive_mbps)));
  }
  return flows;
}

// Of what the agents of two hosts say to each other; a host that is neither cannot work it out.
std::string exchange_key(std::string_view secret, std::string_view one, std::string_view other) {
  const std::string first(std::min(one, other)), second(std::max(one, other));
  return hmac_sha256_hex(secret, "agents\n" + first + "\n" + second);
}

// The other hosts of a job and their adapters, by rank: what a hose may talk to.
Out peers_json(const ClusterState& state, const control::Job& job, const HostBudgets& budgets) {
  const auto host = budgets.host;
  const auto& t = state.topology();
  std::map<fabric::HostId, Out> devices;
  std::vector<fabric::HostId> order;
  for (const fabric::PortId port : control::job_ports(*state.placement_fabric, job.placement.gpu_of_rank)) {
    const auto hca = t.hca_of(port);
    if (t.host(hca) == host) continue;
    const auto [at, is_first] = devices.try_emplace(t.host(hca), Out::array());
    if (is_first) order.push_back(t.host(hca));
    at->second.push_back(t.device(hca));
  }
  Out peers = Out::array();
  for (const auto one : order) {
    peers.push_back(object<"NodeBudgets.jobs.peers">(
        with<"node">(t.name(one)), with<"devices">(std::move(devices[one])),
        maybe<"key">(!budgets.exchange_secret.empty(),
                     [&] { return exchange_key(budgets.exchange_secret, t.name(host), t.name(one)); })));
  }
  return peers;
}

}  // namespace

std::string write_host_budgets(const ClusterState& state, const control::GuaranteeBook& book,
                               const HostBudgets& budgets) {
  const auto& t = state.topology();
  const auto& classes = *state.qos_classes;
  const auto& lanes = book.routes()->routing.lanes;
  Out items = Out::array(), jobs = Out::array();
  std::set<control::JobId> seen;
  for (const PortBudget& budget : budgets.ports) {
    const auto& guarantee = *budget.job->guarantee;
    const auto& gpus = budget.job->placement.gpu_of_rank;
    const auto marks = class_marks(state, guarantee, gpus, lanes);
    const bool has_cable = bool(t.peer(budget.port));
    items.push_back(object<"NodeBudgets.items">(
        with<"job">(control::to_string(budget.job->id)), with<"tenant">(budget.job->spec.tenant),
        port_of_device(t, budget.port), with<"class">(guarantee.qos_class), with<"isolation">(guarantee.isolation),
        with<"model">(guarantee.promise), with<"serviceLevel">(marks ? Out(marks->service_level) : Out(nullptr)),
        with<"dscp">(marks ? Out(marks->traffic_class >> 2U) : Out(nullptr)),
        with<"linkMbps">(has_cable ? state.view.rate(t.link(budget.port)).value() : 0),
        with<"sendMbps">(budget.send_mbps), with<"receiveMbps">(budget.receive_mbps),
        with<"maxMbps">(guarantee.most.value() == 0 ? Out(nullptr) : Out(guarantee.most.value())),
        with<"flows">(flows_json(t, budget))));
    if (!seen.insert(budget.job->id).second) continue;
    jobs.push_back(object<"NodeBudgets.jobs">(with<"job">(control::to_string(budget.job->id)),
                                              with<"peers">(peers_json(state, *budget.job, budgets))));
  }
  Out marks = Out::array();
  for (const auto& one : classes) {
    if (one.dscp != 0 && !one.open) marks.push_back(one.dscp);
  }
  return dump(object<"NodeBudgets">(
      with<"node">(t.name(budgets.host)), with<"term">(state.leader.term), with<"version">(budgets.version),
      with<"bestEffort">(object<"NodeBudgets.bestEffort">(with<"serviceLevel">(0),
                                                          with<"dscp">(classes[fabric::lowest_class(classes)].dscp))),
      with<"classDscps">(std::move(marks)), with<"items">(std::move(items)), with<"jobs">(std::move(jobs)),
      agent_times()));
}

Result<control::BudgetReport> read_budget_report(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  ObjectReader reader(*value, "");
  control::BudgetReport report;
  for (const char* field : {"term", "version", "ports"}) reader.require(field);
  reader.read("term", report.term);
  reader.read("version", report.version);
  reader.read("ignoredMessages", report.ignored_messages);
  const Json* ports = reader.take("ports");
  if (ports != nullptr && (!ports->is_array() || ports->size() > kMaxReadings)) {
    reader.set_error("ports", "is no list of at most 4096 ports");
  }
  for (std::size_t i = 0; ports != nullptr && !reader.failed() && i < ports->size(); ++i) {
    ObjectReader fields((*ports)[i], fmt::format("{}/{}", reader.pointer("ports"), i));
    control::BudgetReading one;
    std::uint64_t send = 0, receive = 0;
    for (const char* field : {"job", "port", "sendMbps", "receiveMbps"}) fields.require(field);
    fields.read("job", one.job);
    fields.read("port", one.port);
    fields.read("sendMbps", send);
    fields.read("receiveMbps", receive);
    one.send_mbps = static_cast<std::int64_t>(send);
    one.receive_mbps = static_cast<std::int64_t>(receive);
    const Json* flows = fields.take("flows");
    if (flows != nullptr && (!flows->is_array() || flows->size() > kMaxFlows)) {
      fields.set_error("flows", "is no list of at most 4096 flows");
    }
    for (std::size_t k = 0; flows != nullptr && !fields.failed() && k < flows->size(); ++k) {
      ObjectReader flow((*flows)[k], fmt::format("{}/{}", fields.pointer("flows"), k));
      std::string peer;
      std::uint64_t mbps = 0;
      for (const char* field : {"port", "sendMbps"}) flow.require(field);
      flow.read("port", peer);
      flow.read("sendMbps", mbps);
      if (auto done = flow.finish(); !done) fields.set_error(std::move(done.error()));
      one.flows[peer] = static_cast<std::int64_t>(mbps);
    }
    if (auto done = fields.finish(); !done) reader.set_error(std::move(done.error()));
    report.readings.push_back(std::move(one));
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return report;
}

std::string write_budget_report(const ClusterState& state, fabric::HostId host, std::uint64_t version,
                                const std::optional<NodeAgents::Kept>& kept, std::int64_t now_ms) {
  const bool is_present = kept && kept->term == state.leader.term && kept->version == version;
  return dump(object<"NodeBudgetStatus">(
      with<"node">(state.topology().name(host)), with<"term">(kept ? Out(kept->term) : Out(nullptr)),
      with<"version">(kept ? Out(kept->version) : Out(nullptr)), with<"wantedTerm">(state.leader.term),
      with<"wantedVersion">(version), with<"enforced">(is_present && kept->differs.empty()),
      with<"ignoredMessages">(kept ? Out(kept->ignored_messages) : Out(nullptr)),
      with<"differs">(kept ? Out(kept->differs) : Out::array()),
      with<"agoSeconds">(kept ? Out(static_cast<double>(now_ms - kept->at_ms) / 1000) : Out(nullptr)), agent_times()));
}

}  // namespace railweave::api
