#include "services/control/codec/journal_codec.h"

#include <utility>

#include <fmt/core.h>

#include "fabric/formats/read_fabric.h"
#include "services/control/codec/access_token_json.h"
#include "services/control/codec/event_body.h"
#include "services/control/codec/fabric_event_json.h"
#include "services/control/codec/guarantee_json.h"
#include "services/control/codec/incident_rows.h"
#include "services/control/codec/job_change_json.h"
#include "services/control/codec/job_json.h"
#include "services/control/codec/job_number.h"
#include "services/control/codec/job_spec_json.h"
#include "services/control/codec/launch_json.h"
#include "services/control/codec/leader_json.h"
#include "services/control/codec/message_json.h"
#include "services/control/codec/move_json.h"
#include "services/control/codec/queue_event_json.h"
#include "services/control/codec/record_chain.h"
#include "services/control/codec/report_rows.h"
#include "services/control/codec/request_origin_json.h"
#include "services/control/codec/step_json.h"
#include "services/control/codec/tenant_json.h"
#include "services/control/codec/webhook_json.h"
#include "services/control/events/apply.h"
#include "services/json/record.h"

namespace railweave::api {
namespace {

using namespace control;  // NOLINT: this file is about its types

constexpr std::uint32_t kVersion = 1;

std::string_view to_string(EventSeverity severity) {
  switch (severity) {
    case EventSeverity::info:
      return "info";
    case EventSeverity::warning:
      return "warning";
    case EventSeverity::error:
      return "error";
  }
  return "";
}

std::unexpected<Error> unreadable(const db::Record& record, const std::string& what) {
  return fail(ErrorKind::internal, "journal.unreadable", what, fmt::format("journal record {}", record.seq),
              "this version of Railweave may be older than the one that wrote it");
}

constexpr std::tuple kTenantRemovedFields{field("name", &TenantRemoved::name)};
constexpr std::tuple kEndedFields{
    field("number", &JobEnded::id, JobNumber{}),
    required_field("state", &JobEnded::state,
                   ByText{[](JobState state) { return control::to_string(state); },
                          [](std::string_view text) { return parse_enum<JobState>(text); }, "job state"}),
    field("reason", &JobEnded::reason, Said{})};

Out accepted_to_json(const AcceptedTopology& accepted) {
  Out value{{"digest", accepted.digest}, {"source", accepted.source}, {"version", accepted.version}};
  if (accepted.intended) value["intended"] = accepted_to_json(*accepted.intended);
  return value;
}

struct Encode {
  const ClusterState& after;
  EncodedEvent& out;

  Out operator()(const TopologyAccepted& body) const {
    out.blob = db::Blob{body.digest, *body.document};
    Out data{{"digest", body.digest}, {"source", body.source}};
    if (!body.renamed.empty()) {
      Out renamed = Out::array();
      for (const auto& [was, now] : body.renamed) renamed.push_back(Out::array({was, now}));
      data["renamed"] = std::move(renamed);
    }
    if (!body.as_cabled.empty()) {
      data["asCabled"] = body.as_cabled;
      data["exchanged"] = body.exchanged;
    }
    return data;
  }
  Out operator()(const TenantPut& body) const {
    Out data = to_json(body.tenant);
    data["name"] = body.tenant.name;
    return data;
  }
  Out operator()(const TenantRemoved& body) const { return fields_json(body, kTenantRemovedFields); }
  Out operator()(const TokenIssued& body) const { return to_json(body); }
  Out operator()(const TokenRevoked& body) const { return to_json(body); }
  Out operator()(const LeaderBegan& body) const { return to_json(body); }
  Out operator()(const JobQueued& body) const {
    const Job& job = *after.jobs.find(body.job->id);
    Out data = job_to_json(job, after.topology());
    for (const auto* derived : {"state", "endedUs", "nodes", "history", "version"}) data.erase(derived);
    return data;
  }
  Out operator()(const JobEvicted& body) const { return to_json(body); }
  Out operator()(const control::OfferExpired& body) const { return to_json(body); }
  Out operator()(const JobMoved& body) const { return to_json(body, after.topology()); }
  Out operator()(const control::MoveOffered& body) const { return to_json(body, after.topology()); }
  Out operator()(const ReservationPut& body) const { return to_json(body, after.topology()); }
  Out operator()(const JobPlaced& body) const {
    const Job& job = *after.jobs.find(body.job->id);
    Out data = job_to_json(job, after.topology());
    for (const auto* derived : {"state", "endedUs", "nodes", "history", "version"}) data.erase(derived);
    data["reason"] = to_json(body.reason);
    return data;
  }
  Out operator()(const JobEnded& body) const { return fields_json(body, kEndedFields); }
  template <class FabricEvent>
  Out operator()(const FabricEvent& body) const {
    return to_json(body);
  }
};

Result<fabric::TopologyPtr> read_topology(const std::string& digest, const BlobReader& blobs) {
  auto bytes = blobs(digest);
  if (!bytes) return std::unexpected(bytes.error());
  if (!*bytes) return fail(ErrorKind::internal, "journal.blobMissing", "the store lacks the topology " + digest);
  auto topology = fabric::read_fabric(**bytes, fabric::Format::native);
  if (!topology) return std::unexpected(topology.error());
  return std::make_shared<const fabric::Topology>(std::move(*topology));
}

Result<EventBody> decode_body(const db::Record& record, const Json& data, const ClusterState& before,
                              const BlobReader& blobs) {
  if (auto event = fabric_event_from_json(record.kind, data)) return std::move(*event);
  if (auto event = launch_event_from_json(record.kind, data)) return std::move(*event);
  if (auto event = move_event_from_json(record.kind, data, before.topology())) return std::move(*event);
  if (auto event = queue_event_from_json(record.kind, data, before.topology())) return std::move(*event);
  if (auto event = guarantee_event_from_json(record.kind, data)) return std::move(*event);
  if (auto event = job_change_from_json(record.kind, data)) return std::move(*event);
  if (auto event = step_event_from_json(record.kind, data)) return std::move(*event);
  if (auto event = webhook_event_from_json(record.kind, data)) return std::move(*event);
  ObjectReader reader(data, "/data");
  if (record.kind == "topology.accepted") {
    TopologyAccepted body;
    reader.read("digest", body.digest);
    reader.read("source", body.source);
    reader.read("asCabled", body.as_cabled);
    reader.read("exchanged", body.exchanged);
    const Json* renamed = reader.take("renamed");
    if (auto done = reader.finish(); !done) return std::unexpected(done.error());
    for (const auto& pair : renamed == nullptr ? Json::array() : *renamed) {
      if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
        return unreadable(record, "a renamed node is not [name before, name after]");
      }
      body.renamed.emplace(pair[0].get<std::string>(), pair[1].get<std::string>());
    }
    auto topology = read_topology(body.digest, blobs);
    if (!topology) return std::unexpected(topology.error());
    body.topology = std::move(*topology);
    return body;
  }
  if (record.kind == "tenant.put") {
    std::string name;
    reader.read("name", name);
    Json rest = data;
    rest.erase("name");
    auto tenant = tenant_from_json(name, rest);
    if (!tenant) return std::unexpected(tenant.error());
    return TenantPut{std::move(*tenant)};
  }
  if (record.kind == "tenant.removed") {
    return body_of<TenantRemoved>(data, kTenantRemovedFields);
  }
  if (record.kind == "token.issued") return token_issued_from_json(data);
  if (record.kind == "token.revoked") return token_revoked_from_json(data);
  if (record.kind == "leader.began") return leader_began_from_json(data);
  if (record.kind == "job.placed" || record.kind == "job.queued") {
    const bool placed = record.kind == "job.placed";
    Json whole = data;
    Message reason;
    if (const auto said = whole.find("reason"); said != whole.end()) {
      auto read = message_from_json(*said, "/data/reason");
      if (!read) return std::unexpected(read.error());
      reason = std::move(*read);
      whole.erase(said);
    }
    whole["state"] = control::to_string(placed ? JobState::placed : JobState::queued);
    whole["history"] = Json::array();
    auto job = job_from_json(whole, before.topology());
    if (!job) return std::unexpected(job.error());
    (*job)->nodes = node_names(before.topology(), (*job)->placement.gpu_of_rank);
    if (!placed) return JobQueued{std::move(*job)};
    return JobPlaced{std::move(*job), std::move(reason)};
  }
  if (record.kind == "job.ended") {
    return body_of<JobEnded>(data, kEndedFields);
  }
  return unreadable(record, "unknown kind of event '" + record.kind + "'");
}

// Without its topology, but for that of the intended one.
Result<AcceptedTopology> read_accepted(const Json& value, const std::string& pointer, const BlobReader& blobs) {
  AcceptedTopology accepted;
  ObjectReader reader(value, pointer);
  reader.read("digest", accepted.digest);
  reader.read("source", accepted.source);
  reader.read("version", accepted.version);
  const Json* intended = reader.take("intended");
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  if (intended == nullptr) return accepted;
  auto read = read_accepted(*intended, pointer + "/intended", blobs);
  if (!read) return std::unexpected(read.error());
  auto topology = read_topology(read->digest, blobs);
  if (!topology) return std::unexpected(topology.error());
  read->topology = std::move(*topology);
  accepted.intended = std::make_shared<const AcceptedTopology>(std::move(*read));
  return accepted;
}

// The Idempotency-Keys whose jobs are not kept any more.
Result<void> read_keys(const Json& keys, ClusterState& state) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ObjectReader reader(keys[i], fmt::format("/keys/{}", i));
    control::OwnedKey key;
    std::uint64_t job = 0, used_us = 0;
    control::UsedKey used;
    used.job_kept = false;
    reader.read("key", key.key);
    reader.read("owner", key.owner);
    reader.read("job", job);
    reader.read("usedUs", used_us);
    reader.read("requestDigest", used.request_digest);
    if (auto done = reader.finish(); !done) return std::unexpected(done.error());
    used.job = JobId(job);
    used.used_us = static_cast<std::int64_t>(used_us);
    state.idempotency.put(key, std::move(used));
  }
  return {};
}

Result<void> read_tenants(const Json& tenants, ClusterState& state) {
  TenantTable table;
  for (const auto& item : tenants) {
    Json rest = item;
    const auto name = rest.value("name", std::string());
    const auto version = rest.value("version", std::uint64_t{0});
    const auto created = rest.value("created", std::uint64_t{0});
    const auto first_job = rest.value("firstJob", std::uint64_t{0});
    for (const char* field : {"name", "version", "created", "firstJob"}) rest.erase(field);
    auto tenant = tenant_from_json(name, rest);
    if (!tenant) return std::unexpected(tenant.error());
    tenant->version = version;
    tenant->created = created;
    tenant->first_job = first_job;
    table.emplace(name, std::move(*tenant));
  }
  state.tenants = std::make_shared<const TenantTable>(std::move(table));
  return {};
}

}  // namespace

EncodedEvent JournalCodec::encode(const Event& event, const ClusterState& after) const {
  EncodedEvent out;
  const EventHeading head = heading(event.body);
  Out payload;
  if (!event.origin.request_id.empty()) payload["origin"] = fields_json(event.origin, kOriginFields);
  payload["summary"] = head.summary.whole_text();
  payload["severity"] = to_string(head.severity);
  payload["message"] = to_json(head.summary);
  payload["data"] = std::visit(Encode{after, out}, event.body);
  out.record = {event.seq, event.term,        event.time_us,   event.actor,  std::string(head.type),
                kVersion,  head.subject_kind, head.subject_id, dump(payload)};
  out.reports = report_rows(event, after);
  out.reports.push_back(audit_row(event));
  return out;
}

std::vector<db::ReportRow> JournalCodec::ended_by(const Event& event, const ClusterState& before) const {
  return ended_rows(event, before);
}

std::string JournalCodec::digest(const db::Record& record) const { return record_digest(record); }

void JournalCodec::link(db::Record& record, const std::string& digest_before) const {
  link_record(record, digest_before);
}

Result<Event> JournalCodec::decode(const db::Record& record, const ClusterState& before,
                                   const BlobReader& blobs) const {
  if (record.version != kVersion) {
    return unreadable(record, fmt::format("version {} of '{}' is not known", record.version, record.kind));
  }
  auto payload = parse_json(record.payload);
  if (!payload) return unreadable(record, payload.error().text());
  if (!payload->is_object() || !payload->contains("data")) return unreadable(record, "no data");
  auto body = decode_body(record, (*payload)["data"], before, blobs);
  if (!body) return unreadable(record, body.error().text());
  return Event{record.seq,   record.term,      record.time_us,
               record.actor, std::move(*body), origin_of_payload(*payload).value_or(RequestOrigin{})};
}

std::string JournalCodec::encode_state(const ClusterState& state) const {
  Out tenants = Out::array();
  for (const auto& [name, tenant] : *state.tenants) {
    Out item = to_json(tenant);
    item["name"] = name;
    item["version"] = tenant.version;
    if (tenant.created != 0) item["created"] = tenant.created;
    if (tenant.first_job != 0) item["firstJob"] = tenant.first_job;
    tenants.push_back(std::move(item));
  }
  Out value{{"topology", accepted_to_json(state.accepted)},
            {"nextJob", state.jobs.next_id().number()},
            {"tenants", std::move(tenants)},
            {"fabric", fabric_state_to_json(state)},
            {"queue", queue_state_to_json(state)},
            {"guarantees", guarantee_state_to_json(state)}};
  value["hostKeys"] = host_keys_to_json(state);
  if (!state.leader.name.empty()) value["leader"] = leader_to_json(state.leader);
  if (!state.access_tokens->empty()) value["tokens"] = access_tokens_to_json(*state.access_tokens);
  if (!state.webhooks->empty()) value["webhooks"] = webhooks_to_json(*state.webhooks);
  if (auto steps = step_times_to_json(state.steps); !steps.empty()) value["steps"] = std::move(steps);
  Out ended = Out::array();
  for (const auto id : *state.ended) ended.push_back(id.number());
  value["ended"] = std::move(ended);
  Out keys = Out::array();
  state.idempotency.visit_without_job([&](const control::OwnedKey& key, const control::UsedKey& used) {
    Out item{
        {"key", key.key}, {"job", used.job.number()}, {"usedUs", used.used_us}, {"requestDigest", used.request_digest}};
    if (!key.owner.empty()) item["owner"] = key.owner;
    keys.push_back(std::move(item));
  });
  if (!keys.empty()) value["keys"] = std::move(keys);
  // Jobs are appended as text, one at a time: a document of ten thousand of them is never held as a tree.
  std::string text = dump(value);
  text.pop_back();
  text += ",\"jobs\":[";
  bool first = true;
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (!first) text += ',';
    first = false;
    text += dump(job_to_json(*job, state.topology()));
    return true;
  });
  return text + "]}";
}

Result<ClusterState> JournalCodec::decode_state(const db::Snapshot& snapshot, const BlobReader& blobs) const {
  if (snapshot.version != kVersion) {
    return fail(ErrorKind::internal, "journal.unreadable",
                fmt::format("version {} of the snapshot is not known", snapshot.version));
  }
  auto value = parse_json(snapshot.payload);
  if (!value) return std::unexpected(value.error());
  ClusterState state;
  ObjectReader reader(*value, "");
  std::uint64_t next_job = 1;
  reader.read("nextJob", next_job);
  state.jobs.set_next_id(JobId(next_job));
  const Json* topology = reader.take("topology");
  const Json* tenants = reader.take("tenants");
  const Json* jobs = reader.take("jobs");
  const Json* ended = reader.take("ended");
  const Json* fabric = reader.take("fabric");  // these two are not in the snapshots of the first versions
  const Json* queue = reader.take("queue");
  const Json* guarantees = reader.take("guarantees");
  const Json* keys = reader.take("keys");
  const Json* host_keys = reader.take("hostKeys");
  const Json* tokens = reader.take("tokens");
  const Json* leader = reader.take("leader");
  const Json* webhooks = reader.take("webhooks");
  const Json* steps = reader.take("steps");
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  if (topology == nullptr || tenants == nullptr || jobs == nullptr || ended == nullptr) {
    return fail(ErrorKind::internal, "journal.unreadable", "the snapshot lacks a part");
  }
  auto accepted = read_accepted(*topology, "/topology", blobs);
  if (!accepted) return std::unexpected(accepted.error());
  accepted->topology = state.accepted.topology;
  state.accepted = std::move(*accepted);
  if (!state.accepted.digest.empty()) {
    auto read = read_topology(state.accepted.digest, blobs);
    if (!read) return std::unexpected(read.error());
    state.set_topology(std::move(*read));
  }
  if (fabric != nullptr) {
    if (auto read = read_fabric_state(*fabric, state); !read) return std::unexpected(read.error());
  }
  if (queue != nullptr) {
    if (auto read = read_queue_state(*queue, state); !read) return std::unexpected(read.error());
  }
  if (guarantees != nullptr) {
    if (auto read = read_guarantee_state(*guarantees, state); !read) return std::unexpected(read.error());
  }
  if (auto read = read_tenants(*tenants, state); !read) return std::unexpected(read.error());
  for (const auto& item : *jobs) {
    auto job = job_from_json(item, state.topology());
    if (!job) return std::unexpected(job.error());
    state.restore(std::move(*job));
  }
  using Read = Result<void> (*)(const Json&, ClusterState&);
  for (const auto& [part, read] : {std::pair<const Json*, Read>{keys, read_keys},
                                   {host_keys, read_host_keys},
                                   {tokens, read_access_tokens},
                                   {leader, read_leader},
                                   {webhooks, read_webhooks},
                                   {steps, read_step_times}}) {
    if (part == nullptr) continue;
    if (auto done = read(*part, state); !done) return std::unexpected(done.error());
  }
  std::deque<JobId> order;
  for (const auto& number : *ended) order.emplace_back(number.get<std::uint64_t>());
  state.ended = std::make_shared<const std::deque<JobId>>(std::move(order));
  state.seq = snapshot.seq;
  state.term = snapshot.term;
  state.time_us = snapshot.time_us;
  return state;
}

}  // namespace railweave::api
