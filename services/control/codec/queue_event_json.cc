#include "services/control/codec/queue_event_json.h"

#include <utility>

#include "fabric/topology/topology_builder.h"
#include "services/control/codec/event_body.h"
#include "services/control/codec/job_json.h"
#include "services/control/codec/job_number.h"
#include "services/control/codec/message_json.h"
#include "services/control/codec/move_json.h"
#include "services/control/codec/prediction_json.h"
#include "services/control/codec/queue_policy_json.h"
#include "services/control/state/cluster_state.h"

namespace railweave::api {
namespace {

using namespace control;  // NOLINT: this file is about its types

std::unexpected<Error> wrong(const std::string& what) { return fail(ErrorKind::internal, "journal.unreadable", what); }

constexpr Names<scheduler::QueueWindow::Kind, 2> kWindowKinds{
    {{"reservation", scheduler::QueueWindow::Kind::reservation},
     {"maintenance", scheduler::QueueWindow::Kind::maintenance}}};

constexpr std::size_t kMaxDrained = fabric::TopologyBuilder::kMaxHosts;

constexpr std::tuple kWaitsFields{field("number", &JobWaits::id, JobNumber{}), field("code", &JobWaits::code),
                                  field("text", &JobWaits::text, Said{}),
                                  optional_field("placeUntilUs", &JobWaits::place_until_us)};
constexpr std::tuple kEvictedFields{
    field("number", &JobEvicted::id, JobNumber{}), optional_field("inFavourOf", &JobEvicted::in_favour_of, JobNumber{}),
    field("lostGpuSeconds", &JobEvicted::lost_gpu_s), field("reason", &JobEvicted::reason, Said{})};
constexpr std::tuple kDamagedFields{field("number", &JobDamaged::id, JobNumber{}),
                                    field("damage", &JobDamaged::damage, Said{}),
                                    optional_field("lost", &JobDamaged::lost, Strings{scheduler::JobSpec::kMaxRanks})};
constexpr std::tuple kCheckpointedFields{field("number", &JobCheckpointed::id, JobNumber{}),
                                         field("savedUs", &JobCheckpointed::saved_us)};
constexpr std::tuple kBegunFields{field("name", &MaintenanceBegan::name),
                                  field("drained", &MaintenanceBegan::drained, Strings{kMaxDrained})};
constexpr std::tuple kRemovedFields{field("name", &ReservationRemoved::name), field("over", &ReservationRemoved::over)};
constexpr std::tuple kUsageFields{field("gpuSeconds", &scheduler::FairShare::Usage::gpu_s),
                                  field("asOfUs", &scheduler::FairShare::Usage::as_of_us)};

// GPUs are kept by node, so these lists need the topology.
auto moved_fields(const fabric::Topology& topology) {
  return std::tuple{field("number", &JobMoved::id, JobNumber{}),
                    field("ranksMoved", &JobMoved::ranks),
                    field("reason", &JobMoved::reason, Said{}),
                    required_field("ranks", &JobMoved::gpu_of_rank, GpusByNode{topology}),
                    required_field("idle", &JobMoved::idle_gpus, GpusByNode{topology}),
                    optional_field("predicted", &JobMoved::predicted, kPrediction),
                    optional_field("cpuRoles", &JobMoved::cpu_seats, kCpuSeats),
                    optional_field("left", &JobMoved::left, Strings{})};
}

auto reservation_fields(const fabric::Topology& topology) {
  const auto in_window = [](auto member) {
    return [member](auto& reservation) -> auto& { return reservation.window.*member; };
  };
  using scheduler::QueueWindow;
  return std::tuple{field("name", in_window(&QueueWindow::name)),
                    required_field("kind", in_window(&QueueWindow::kind), OneOf{kWindowKinds, "kind of reservation"}),
                    field("fromUs", in_window(&QueueWindow::from_us)),
                    field("toUs", in_window(&QueueWindow::to_us)),
                    field("tenant", in_window(&QueueWindow::tenant)),
                    field("reason", &GpuReservation::reason),
                    required_field("gpus", in_window(&QueueWindow::gpus), GpusByNode{topology}),
                    optional_field("begun", &GpuReservation::begun),
                    optional_field("drained", &GpuReservation::drained, Strings{kMaxDrained})};
}

}  // namespace

Out to_json(const JobWaits& event) { return fields_json(event, kWaitsFields); }
Out to_json(const JobEvicted& event) { return fields_json(event, kEvictedFields); }
Out to_json(const JobMoved& event, const fabric::Topology& topology) {
  return fields_json(event, moved_fields(topology));
}
Out to_json(const JobDamaged& event) { return fields_json(event, kDamagedFields); }
Out to_json(const JobCheckpointed& event) { return fields_json(event, kCheckpointedFields); }
Out to_json(const QueueRulesPut& event) { return to_json(event.policy); }
Out to_json(const ReservationPut& event, const fabric::Topology& topology) {
  return fields_json(event.reservation, reservation_fields(topology));
}
Out to_json(const MaintenanceBegan& event) { return fields_json(event, kBegunFields); }
Out to_json(const ReservationRemoved& event) { return fields_json(event, kRemovedFields); }

std::optional<Result<EventBody>> queue_event_from_json(std::string_view kind, const Json& data,
                                                       const fabric::Topology& topology) {
  if (kind == "job.waits") return body_of<JobWaits>(data, kWaitsFields);
  if (kind == "job.evicted") return body_of<JobEvicted>(data, kEvictedFields);
  if (kind == "job.moved") return body_of<JobMoved>(data, moved_fields(topology));
  if (kind == "job.damaged" || kind == "job.whole") return body_of<JobDamaged>(data, kDamagedFields);
  if (kind == "job.checkpointed") return body_of<JobCheckpointed>(data, kCheckpointedFields);
  if (kind == "queue.policyPut") {
    auto policy = queue_policy_of_journal(data);
    if (!policy) return std::unexpected(policy.error());
    return EventBody{QueueRulesPut{std::move(*policy)}};
  }
  if (kind == "reservation.put") {
    auto reservation = record_from_json<GpuReservation>(data, "/data", reservation_fields(topology));
    if (!reservation) return std::unexpected(reservation.error());
    return EventBody{ReservationPut{std::move(*reservation)}};
  }
  if (kind == "reservation.begun") return body_of<MaintenanceBegan>(data, kBegunFields);
  if (kind == "reservation.removed") return body_of<ReservationRemoved>(data, kRemovedFields);
  return std::nullopt;
}

Out queue_state_to_json(const ClusterState& state) {
  Out reservations = Out::array();
  for (const auto& [name, reservation] : *state.reservations) {
    Out item = fields_json(reservation, reservation_fields(state.topology()));
    item["version"] = reservation.version;
    reservations.push_back(std::move(item));
  }
  Out used = Out::array();
  for (const auto& [tenant, usage] : state.used->tenants()) {
    Out item{{"tenant", tenant}};
    write_fields(item, usage, kUsageFields);
    used.push_back(std::move(item));
  }
  Out value{{"policy", to_json(state.queue_rules->policy)},
            {"policyVersion", state.queue_rules->version},
            {"reservations", std::move(reservations)},
            {"used", std::move(used)},
            {"version", state.queue_version}};
  if (!state.moves->charges.empty()) value["moveCharges"] = move_charges_to_json(state.moves->charges);
  return value;
}

Result<void> read_queue_state(const Json& value, ClusterState& state) {
  ObjectReader reader(value, "/queue");
  auto rules = std::make_shared<QueueRules>();
  reader.read("policyVersion", rules->version);
  reader.read("version", state.queue_version);
  const Json* policy = reader.take("policy");
  const Json* reservations = reader.take("reservations");
  const Json* used = reader.take("used");
  const Json* charges = reader.take("moveCharges");
  if (auto done = reader.finish(); !done) return done;
  if (policy == nullptr || reservations == nullptr || used == nullptr)
    return wrong("the queue's snapshot lacks a part");
  auto read = queue_policy_of_journal(*policy);
  if (!read) return std::unexpected(read.error());
  rules->policy = std::move(*read);
  auto share = std::make_shared<scheduler::FairShare>(rules->policy.half_life_us);
  for (const auto& item : *used) {
    ObjectReader fields(item, "/queue/used");
    std::string tenant;
    scheduler::FairShare::Usage usage;
    fields.read("tenant", tenant);
    read_fields(fields, usage, kUsageFields);
    if (auto done = fields.finish(); !done) return done;
    share->restore(std::move(tenant), usage);
  }
  if (charges != nullptr) {
    auto book = std::make_shared<MoveBook>(*state.moves);
    if (auto done = read_move_charges(*charges, book->charges); !done) return done;
    state.moves = std::move(book);
  }
  auto table = std::make_shared<ReservationTable>();
  for (const auto& item : *reservations) {
    ObjectReader fields(item, "/queue/reservations");
    GpuReservation reservation;
    fields.read("version", reservation.version);
    read_fields(fields, reservation, reservation_fields(state.topology()));
    if (auto done = fields.finish(); !done) return done;
    table->emplace(reservation.window.name, std::move(reservation));
  }
  state.queue_rules = std::move(rules);
  state.used = std::move(share);
  state.reservations = std::move(table);
  return {};
}

}  // namespace railweave::api
