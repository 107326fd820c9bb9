// Events and states as the JSON that the journal keeps. Payloads carry names, never dense ids, so they outlive the
// topology they were written under. Versioned by kind (db::Record::version); a reader keeps reading every version ever
// written.
//
// An event's payload is {"after", "origin", "summary", "severity", "message", "data"}. "after" (record_chain.h) and "origin"
// (request_origin_json.h) are left out where they are not known. What is shown of it is services/rest/access/shown_event.h's matter.
#pragma once

#include "services/control/events/event_codec.h"

namespace railweave::api {

class JournalCodec final : public control::EventCodec {
 public:
  [[nodiscard]] control::EncodedEvent encode(const control::Event& event,
                                             const control::ClusterState& after) const override;
  [[nodiscard]] std::vector<db::ReportRow> ended_by(const control::Event& event,
                                                    const control::ClusterState& before) const override;
  [[nodiscard]] std::string digest(const db::Record& record) const override;
  void link(db::Record& record, const std::string& digest_before) const override;
  [[nodiscard]] Result<control::Event> decode(const db::Record& record, const control::ClusterState& before,
                                              const control::BlobReader& blobs) const override;
  [[nodiscard]] std::string encode_state(const control::ClusterState& state) const override;
  [[nodiscard]] Result<control::ClusterState> decode_state(const db::Snapshot& snapshot,
                                                           const control::BlobReader& blobs) const override;
};

}  // namespace railweave::api
