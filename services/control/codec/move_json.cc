#include "services/control/codec/move_json.h"

#include <utility>

#include "services/control/codec/event_body.h"
#include "services/control/codec/job_json.h"
#include "services/control/codec/job_number.h"
#include "services/control/codec/message_json.h"

namespace railweave::api {
namespace {

using control::EventBody;
using control::Move;
using control::MoveAccepted;
using control::MoveCharge;
using control::MoveEnded;
using control::MoveOffered;

auto move_fields(const fabric::Topology& topology) {
  return std::tuple{field("plan", &Move::plan),
                    optional_field("inFavourOf", &Move::in_favour_of, JobNumber{}),
                    required_field("ranks", &Move::gpu_of_rank, GpusByNode{topology}),
                    field("lostGpuSeconds", &Move::lost_gpu_s),
                    field("deadlineUs", &Move::deadline_us),
                    optional_field("accepted", &Move::accepted),
                    field("reason", &Move::reason, Said{})};
}
constexpr std::tuple kMoveOfferedFields{field("number", &MoveOffered::id, JobNumber{})};
constexpr std::tuple kMoveAcceptedFields{field("number", &MoveAccepted::id, JobNumber{}),
                                         field("answered", &MoveAccepted::answered)};
constexpr std::tuple kMoveEndedFields{field("number", &MoveEnded::id, JobNumber{}),
                                      field("reason", &MoveEnded::reason, Said{})};
constexpr std::tuple kMoveChargeFields{field("timeUs", &MoveCharge::time_us),
                                       field("lostGpuSeconds", &MoveCharge::lost_gpu_s)};

}  // namespace

Out to_json(const Move& move, const fabric::Topology& topology) { return fields_json(move, move_fields(topology)); }
Result<Move> move_from_json(const Json& value, const std::string& pointer, const fabric::Topology& topology) {
  return record_from_json<Move>(value, pointer, move_fields(topology));
}

Out to_json(const MoveOffered& event, const fabric::Topology& topology) {
  Out value = fields_json(event, kMoveOfferedFields);
  write_fields(value, event.move, move_fields(topology));
  return value;
}
Out to_json(const MoveAccepted& event) { return fields_json(event, kMoveAcceptedFields); }
Out to_json(const MoveEnded& event) { return fields_json(event, kMoveEndedFields); }

std::optional<Result<EventBody>> move_event_from_json(std::string_view kind, const Json& data,
                                                      const fabric::Topology& topology) {
  if (kind == "job.moveOffered") {
    MoveOffered offered;
    ObjectReader reader(data, "/data");
    read_fields(reader, offered, kMoveOfferedFields);
    read_fields(reader, offered.move, move_fields(topology));
    return finished(reader, std::move(offered));
  }
  if (kind == "job.moveAccepted") return body_of<MoveAccepted>(data, kMoveAcceptedFields);
  if (kind == "job.moveEnded") return body_of<MoveEnded>(data, kMoveEndedFields);
  return std::nullopt;
}

Out move_charges_to_json(const std::deque<MoveCharge>& charges) {
  Out list = Out::array();
  for (const MoveCharge& charge : charges) list.push_back(fields_json(charge, kMoveChargeFields));
  return list;
}

Result<void> read_move_charges(const Json& value, std::deque<MoveCharge>& charges) {
  for (const Json& item : value) {
    auto charge = record_from_json<MoveCharge>(item, "/queue/moveCharges", kMoveChargeFields);
    if (!charge) return std::unexpected(charge.error());
    charges.push_back(*charge);
  }
  return {};
}

}  // namespace railweave::api
