#include "services/control/codec/queue_event_json.h"

#include <utility>

#include "services/control/codec/event_body.h"
#include "services/control/codec/job_json.h"
#include "services/control/codec/prediction_json.h"
#include "services/control/codec/queue_policy_json.h"

namespace railweave::api {
namespace {

using namespace control;  // NOLINT: this file is about its types

std::unexpected<Error> wrong(const std::string& what) { return fail(ErrorKind::internal, "journal.unreadable", what); }

JobId read_id(ObjectReader& reader, const char* field = "number") {
  std::uint64_t number = 0;
  reader.read(field, number);
  return JobId(number);
}

std::int64_t read_time(ObjectReader& reader, const char* field) {
  std::uint64_t us = 0;
  reader.read(field, us);
  return static_cast<std::int64_t>(us);
}

Result<std::vector<fabric::GpuId>> read_gpus(ObjectReader& reader, const char* field,
                                             const fabric::Topology& topology) {
  const Json* ranks = reader.take(field);
  if (ranks == nullptr) return wrong(std::string("no ") + field);
  return ranks_from_json(topology, *ranks);
}

Out to_json(const GpuReservation& reservation, const fabric::Topology& topology) {
  const auto& window = reservation.window;
  return {{"name", window.name},
          {"kind", control::to_string(window.kind)},
          {"fromUs", window.from_us},
          {"toUs", window.to_us},
          {"tenant", window.tenant},
          {"reason", reservation.reason},
          {"gpus", ranks_to_json(topology, window.gpus)}};
}

Result<GpuReservation> reservation_from_json(ObjectReader& reader, const fabric::Topology& topology) {
  GpuReservation reservation;
  auto& window = reservation.window;
  std::string kind;
  reader.read("name", window.name);
  reader.read("kind", kind);
  window.from_us = read_time(reader, "fromUs");
  window.to_us = read_time(reader, "toUs");
  reader.read("tenant", window.tenant);
  reader.read("reason", reservation.reason);
  window.kind = kind == control::to_string(scheduler::QueueWindow::Kind::reservation)
                    ? scheduler::QueueWindow::Kind::reservation
                    : scheduler::QueueWindow::Kind::maintenance;
  auto gpus = read_gpus(reader, "gpus", topology);
  if (!gpus) return std::unexpected(gpus.error());
  window.gpus = std::move(*gpus);
  return reservation;
}

}  // namespace

Out to_json(const JobWaits& event) {
  return {{"number", event.id.number()}, {"code", event.code}, {"text", event.text}};
}
Out to_json(const JobEvicted& event) {
  return {{"number", event.id.number()},
          {"inFavourOf", event.in_favour_of.number()},
          {"lostGpuSeconds", event.lost_gpu_s},
          {"reason", event.reason}};
}
Out to_json(const JobMoved& event, const fabric::Topology& topology) {
  Out value{{"number", event.id.number()},
            {"ranksMoved", event.ranks},
            {"reason", event.reason},
            {"ranks", ranks_to_json(topology, event.gpu_of_rank)},
            {"idle", ranks_to_json(topology, event.idle_gpus)}};
  if (event.predicted) value["predicted"] = to_json(*event.predicted);
  return value;
}
Out to_json(const JobDamaged& event) { return {{"number", event.id.number()}, {"damage", event.damage}}; }
Out to_json(const JobCheckpointed& event) { return {{"number", event.id.number()}, {"savedUs", event.saved_us}}; }
Out to_json(const QueueRulesPut& event) { return to_json(event.policy); }
Out to_json(const ReservationPut& event, const fabric::Topology& topology) {
  return to_json(event.reservation, topology);
}
Out to_json(const ReservationRemoved& event) { return {{"name", event.name}, {"over", event.over}}; }

std::optional<Result<EventBody>> queue_event_from_json(std::string_view kind, const Json& data,
                                                       const fabric::Topology& topology) {
  ObjectReader reader(data, "/data");
  if (kind == "job.waits") {
    JobWaits body{read_id(reader), {}, {}};
    reader.read("code", body.code);
    reader.read("text", body.text);
    return finished(reader, std::move(body));
  }
  if (kind == "job.evicted") {
    JobEvicted body;
    body.id = read_id(reader);
    body.in_favour_of = read_id(reader, "inFavourOf");
    reader.read("lostGpuSeconds", body.lost_gpu_s);
    reader.read("reason", body.reason);
    return finished(reader, std::move(body));
  }
  if (kind == "job.moved") {
    JobMoved body;
    body.id = read_id(reader);
    reader.read("ranksMoved", body.ranks);
    reader.read("reason", body.reason);
    if (const Json* predicted = reader.take("predicted"); predicted != nullptr) {
      auto prediction = prediction_from_json(*predicted, "/data/predicted");
      if (!prediction) return std::unexpected(prediction.error());
      body.predicted = std::move(*prediction);
    }
    auto gpus = read_gpus(reader, "ranks", topology);
    if (!gpus) return std::unexpected(gpus.error());
    body.gpu_of_rank = std::move(*gpus);
    auto idle = read_gpus(reader, "idle", topology);
    if (!idle) return std::unexpected(idle.error());
    body.idle_gpus = std::move(*idle);
    return finished(reader, std::move(body));
  }
  if (kind == "job.damaged" || kind == "job.whole") {
    JobDamaged body{read_id(reader), {}};
    reader.read("damage", body.damage);
    return finished(reader, std::move(body));
  }
  if (kind == "job.checkpointed") {
    JobCheckpointed body{read_id(reader), read_time(reader, "savedUs")};
    return finished(reader, body);
  }
  if (kind == "queue.policyPut") {
    auto policy = queue_policy_from_json(data);
    if (!policy) return std::unexpected(policy.error());
    return EventBody{QueueRulesPut{std::move(*policy)}};
  }
  if (kind == "reservation.put") {
    auto reservation = reservation_from_json(reader, topology);
    if (!reservation) return std::unexpected(reservation.error());
    return finished(reader, ReservationPut{std::move(*reservation)});
  }
  if (kind == "reservation.removed") {
    ReservationRemoved body;
    reader.read("name", body.name);
    reader.read("over", body.over);
    return finished(reader, std::move(body));
  }
  return std::nullopt;
}

Out queue_state_to_json(const ClusterState& state) {
  Out reservations = Out::array();
  for (const auto& [name, reservation] : *state.reservations) {
    Out item = to_json(reservation, state.topology());
    item["version"] = reservation.version;
    reservations.push_back(std::move(item));
  }
  Out used = Out::array();
  for (const auto& [tenant, usage] : state.used->tenants()) {
    used.push_back({{"tenant", tenant}, {"gpuSeconds", usage.gpu_s}, {"asOfUs", usage.as_of_us}});
  }
  return {{"policy", to_json(state.queue_rules->policy)},
          {"policyVersion", state.queue_rules->version},
          {"reservations", std::move(reservations)},
          {"used", std::move(used)},
          {"version", state.queue_version}};
}

Result<void> read_queue_state(const Json& value, ClusterState& state) {
  ObjectReader reader(value, "/queue");
  auto rules = std::make_shared<QueueRules>();
  reader.read("policyVersion", rules->version);
  reader.read("version", state.queue_version);
  const Json* policy = reader.take("policy");
  const Json* reservations = reader.take("reservations");
  const Json* used = reader.take("used");
  if (auto done = reader.finish(); !done) return done;
  if (policy == nullptr || reservations == nullptr || used == nullptr)
    return wrong("the queue's snapshot lacks a part");
  auto read = queue_policy_from_json(*policy);
  if (!read) return std::unexpected(read.error());
  rules->policy = std::move(*read);
  auto share = std::make_shared<scheduler::FairShare>(rules->policy.half_life_us);
  for (const auto& item : *used) {
    ObjectReader fields(item, "/queue/used");
    std::string tenant;
    scheduler::FairShare::Usage usage;
    fields.read("tenant", tenant);
    fields.read("gpuSeconds", usage.gpu_s);
    usage.as_of_us = read_time(fields, "asOfUs");
    if (auto done = fields.finish(); !done) return done;
    share->restore(std::move(tenant), usage);
  }
  auto table = std::make_shared<ReservationTable>();
  for (const auto& item : *reservations) {
    ObjectReader fields(item, "/queue/reservations");
    std::uint64_t version = 0;
    fields.read("version", version);
    auto reservation = reservation_from_json(fields, state.topology());
    if (!reservation) return std::unexpected(reservation.error());
    if (auto done = fields.finish(); !done) return done;
    reservation->version = version;
    table->emplace(reservation->window.name, std::move(*reservation));
  }
  state.queue_rules = std::move(rules);
  state.used = std::move(share);
  state.reservations = std::move(table);
  return {};
}

}  // namespace railweave::api
