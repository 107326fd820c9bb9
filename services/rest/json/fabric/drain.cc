#include "services/rest/json/fabric/drain.h"

#include <map>

#include "fabric/base/text/time_text.h"
#include "services/json/contract_object.h"
#include "services/json/strict_json.h"
#include "services/rest/json/fabric/drain_value.h"
#include "services/rest/json/link_value.h"
#include "services/rest/json/routing_value.h"

namespace railweave::api {
namespace {

using control::Drain;
using control::DrainPreview;
using fabric::PortId;
using fabric::Topology;

constexpr std::size_t kMaxReasonBytes = 500;
constexpr std::size_t kMaxCutOffListed = 1'000;
constexpr std::size_t kMaxJobsListed = 1'000;

Out text_or_null(const std::string& text) { return text.empty() ? Out(nullptr) : Out(text); }

// A device that has left the topology keeps the id it was drained by.
std::string target_name(const Topology& topology, const control::DrainTarget& target) {
  if (target.kind == control::DrainKind::network_switch) {
    const auto sw = topology.find_switch(target.id);
    return sw ? std::string(topology.name(sw)) : target.id;
  }
  if (target.kind != control::DrainKind::link) return target.id;
  const auto link = topology.find_link(target.id);
  return link ? link_name(topology, link) : target.id;
}

auto target_of(const Topology& topology, const control::DrainTarget& target) {
  return several(with<"kind">(target.kind), with<"id">(target.id), with<"name">(target_name(topology, target)));
}

Out jobs_json(const std::vector<control::AffectedJob>& jobs) {
  Out list = Out::array();
  for (const auto& job : jobs) {
    if (list.size() == kMaxJobsListed) break;
    list.push_back(object<"DrainAnswer.jobsAffected">(
        with<"job">(control::to_string(job.id)), with<"name">(job.name), with<"tenant">(job.tenant),
        with<"effect">(job.on_it ? "onNode" : (job.cut_off ? "cutOff" : "rerouted"))));
  }
  return list;
}

}  // namespace

Out cut_off_json(const Topology& topology, const std::vector<PortId>& ports) {
  Out list = Out::array();
  for (const PortId port : ports) {
    if (list.size() == kMaxCutOffListed) break;
    const auto host = topology.host(topology.hca_of(port));
    list.push_back(object<"CutOffPort">(with<"port">(topology.port_text(port)),
                                        with<"node">(host ? Out(topology.name(host)) : Out(nullptr)),
                                        with<"device">(device_text(topology, port))));
  }
  return list;
}

Out drain_json(const ShownDrain& shown) {
  if (shown.drain == nullptr) return nullptr;
  const Drain& drain = *shown.drain;
  return object<"DrainFields">(with<"state">(drain.state), with<"reason">(drain.reason), with<"actor">(drain.actor),
                               with<"forced">(drain.forced), with<"requestedAt">(time_text(drain.requested_us)),
                               with<"changedAt">(time_text(drain.changed_us)),
                               with<"waitsFor">(text_or_null(shown.waits_for)));
}

Result<DrainRequest> read_drain_request(std::string_view body, bool forcible, bool of_node) {
  auto value = parse_json(body.empty() ? std::string_view("{}") : body);
  if (!value) return std::unexpected(value.error());
  DrainRequest request;
  ObjectReader reader(*value, "");
  reader.read("reason", request.reason);
  if (forcible) reader.read("force", request.force);
  if (of_node) {
    std::uint32_t gpu = 0;
    reader.read("gpu", gpu);
    if (reader.has("gpu")) request.gpu = gpu;
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  if (request.reason.size() > kMaxReasonBytes) {
    return fail(ErrorKind::invalid, "body.invalidField", "the reason is longer than 500 bytes", "/reason");
  }
  return request;
}

std::string write_drain(const Topology& topology, const ShownDrain& shown) {
  return dump(object<"Drain">(target_of(topology, shown.drain->target), part<"DrainFields">(drain_json(shown)),
                              with<"version">(shown.drain->version)));
}

std::string write_drain_preview(const Topology& topology, const DrainPreview& preview, bool force,
                                const ShownDrain& shown) {
  Out lost = Out::array();
  for (const auto& one : preview.guarantees_at_risk) {
    lost.push_back(object<"DrainAnswer.guaranteesAtRisk">(
        with<"job">(control::to_string(one.job)), with<"tenant">(one.tenant), with<"class">(one.qos_class),
        with<"reason">(one.reason.whole_text()), with<"links">(one.links)));
  }
  const auto& tables = preview.tables;
  return dump(object<"DrainAnswer">(
      target_of(topology, preview.target), with<"allowed">(preview.safe() || force), with<"safe">(preview.safe()),
      with<"objections">(preview.objections), with<"cutsOff">(cut_off_json(topology, preview.cut_off)),
      with<"cutsOffCount">(preview.cut_off.size()), with<"jobsAffected">(jobs_json(preview.jobs)),
      with<"jobsAffectedCount">(preview.jobs.size()), with<"changedEntries">(tables ? tables->changed_entries : 0),
      with<"changedSwitches">(tables ? tables->changed_switches : 0),
      with<"maxLinkLoadBefore">(tables ? Out(tables->max_link_load_before) : Out(nullptr)),
      with<"maxLinkLoadAfter">(tables ? Out(tables->max_link_load_after) : Out(nullptr)),
      with<"residualCapacity">(tables ? Out(preview.residual_capacity) : Out(nullptr)),
      with<"guaranteesAtRisk">(std::move(lost)),
      with<"state">(shown.drain == nullptr ? std::nullopt : std::optional(shown.drain->state)),
      with<"waitsFor">(text_or_null(shown.waits_for))));
}

}  // namespace railweave::api
