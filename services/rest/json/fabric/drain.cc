#include "services/rest/json/fabric/drain.h"

#include <map>

#include "fabric/base/text/time_text.h"
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

Out jobs_json(const std::vector<control::AffectedJob>& jobs) {
  Out list = Out::array();
  for (const auto& job : jobs) {
    if (list.size() == kMaxJobsListed) break;
    list.push_back({{"job", control::to_string(job.id)},
                    {"name", job.name},
                    {"tenant", job.tenant},
                    {"effect", job.on_it ? "onNode" : (job.cut_off ? "cutOff" : "rerouted")}});
  }
  return list;
}

}  // namespace

Out cut_off_json(const Topology& topology, const std::vector<PortId>& ports) {
  Out list = Out::array();
  for (const PortId port : ports) {
    if (list.size() == kMaxCutOffListed) break;
    const auto host = topology.host(topology.hca_of(port));
    list.push_back({{"port", topology.port_text(port)},
                    {"node", host ? Out(topology.name(host)) : Out(nullptr)},
                    {"device", device_text(topology, port)}});
  }
  return list;
}

Out drain_json(const ShownDrain& shown) {
  if (shown.drain == nullptr) return nullptr;
  const Drain& drain = *shown.drain;
  return {{"state", control::to_string(drain.state)},
          {"reason", drain.reason},
          {"actor", drain.actor},
          {"forced", drain.forced},
          {"requestedAt", time_text(drain.requested_us)},
          {"changedAt", time_text(drain.changed_us)},
          {"waitsFor", text_or_null(shown.waits_for)}};
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
  const auto& target = shown.drain->target;
  Out value{{"kind", control::to_string(target.kind)}, {"id", target.id}, {"name", target_name(topology, target)}};
  value.update(drain_json(shown));
  value["version"] = shown.drain->version;
  return dump(value);
}

std::string write_drain_preview(const Topology& topology, const DrainPreview& preview, bool force,
                                const ShownDrain& shown) {
  Out value{{"kind", control::to_string(preview.target.kind)},
            {"id", preview.target.id},
            {"name", target_name(topology, preview.target)},
            {"allowed", preview.safe() || force},
            {"safe", preview.safe()},
            {"objections", preview.objections},
            {"cutsOff", cut_off_json(topology, preview.cut_off)},
            {"cutsOffCount", preview.cut_off.size()},
            {"jobsAffected", jobs_json(preview.jobs)},
            {"jobsAffectedCount", preview.jobs.size()}};
  const auto& tables = preview.tables;
  value["changedEntries"] = tables ? tables->changed_entries : 0;
  value["changedSwitches"] = tables ? tables->changed_switches : 0;
  value["maxLinkLoadBefore"] = tables ? Out(tables->max_link_load_before) : Out(nullptr);
  value["maxLinkLoadAfter"] = tables ? Out(tables->max_link_load_after) : Out(nullptr);
  value["residualCapacity"] = tables ? Out(preview.residual_capacity) : Out(nullptr);
  Out lost = Out::array();
  for (const auto& one : preview.guarantees_at_risk) {
    lost.push_back({{"job", control::to_string(one.job)},
                    {"tenant", one.tenant},
                    {"class", one.qos_class},
                    {"reason", one.reason.whole_text()},
                    {"links", one.links}});
  }
  value["guaranteesAtRisk"] = std::move(lost);
  value["state"] = shown.drain == nullptr ? Out(nullptr) : Out(control::to_string(shown.drain->state));
  value["waitsFor"] = text_or_null(shown.waits_for);
  return dump(value);
}

}  // namespace railweave::api
