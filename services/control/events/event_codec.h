// The interface through which the control loop encodes events and states for the store; it keeps JSON out of the
// control loop. Implemented by services/control/codec/journal_codec.h. Implementations are stateless and thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/journal.h"
#include "fabric/base/error.h"

namespace railweave::control {

struct ClusterState;
struct Event;

using BlobReader = std::function<Result<std::optional<std::string>>(const std::string& digest)>;

struct EncodedEvent {
  db::Record record;                   // all fields set
  std::optional<db::Blob> blob;        // a document that the payload names by digest
  std::vector<db::ReportRow> reports;  // rows of the reporting tables
};

class EventCodec {
 public:
  EventCodec() = default;
  EventCodec(const EventCodec&) = delete;
  EventCodec& operator=(const EventCodec&) = delete;
  virtual ~EventCodec() = default;

  // `after` is the state with the event applied.
  [[nodiscard]] virtual EncodedEvent encode(const Event& event, const ClusterState& after) const = 0;
  // Rows of the reporting tables about what the event ends, which the state after it does not have any more.
  [[nodiscard]] virtual std::vector<db::ReportRow> ended_by(const Event& /*event*/,
                                                            const ClusterState& /*before*/) const {
    return {};
  }
  // Of everything in a record, so that it tells it from every other.
  [[nodiscard]] virtual std::string digest(const db::Record& /*record*/) const { return {}; }
  // Makes a record name the one before it by that digest; "": it is not known.
  virtual void link(db::Record& /*record*/, const std::string& /*digest_before*/) const {}
  // `before` is the state that the event will be applied to.
  [[nodiscard]] virtual Result<Event> decode(const db::Record& record, const ClusterState& before,
                                             const BlobReader& blobs) const = 0;
  [[nodiscard]] virtual std::string encode_state(const ClusterState& state) const = 0;
  [[nodiscard]] virtual Result<ClusterState> decode_state(const db::Snapshot& snapshot,
                                                          const BlobReader& blobs) const = 0;
};

}  // namespace railweave::control
