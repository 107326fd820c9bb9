// The part of the control loop that makes events into records, and tells the log of them.
#include <algorithm>
#include <string_view>
#include <utility>

#include "services/control/control_loop.h"
#include "services/control/events/apply.h"

namespace railweave::control {
namespace {

// Its lines name the request.
log::Log about(const log::Log& log, const RequestOrigin& origin) {
  return origin.request_id.empty() ? log : log.span("request", origin.request_id);
}

}  // namespace

void ControlLoop::record(ClusterState& working, db::Batch& writes, const std::string& actor, std::int64_t now_us,
                         std::vector<EventBody> events, const RequestOrigin& origin) const {
  const std::int64_t time_us = std::max(working.time_us, now_us);
  for (auto& body : events) {
    const Event event{working.seq + 1, std::max(working.term, journal_.term()), time_us, actor, std::move(body),
                      origin};
    for (auto& row : codec_.ended_by(event, working)) writes.reports.push_back(std::move(row));
    apply(working, event);
    auto encoded = codec_.encode(event, working);
    if (options_.log.is_on(log::Level::debug)) {
      about(options_.log, origin)
          .debug("event {} {} {} {} by {}", encoded.record.seq, encoded.record.kind, encoded.record.subject_kind,
                 encoded.record.subject_id, actor);
    }
    writes.records.push_back(std::move(encoded.record));
    if (encoded.blob) writes.blobs.push_back(std::move(*encoded.blob));
    for (auto& row : encoded.reports) writes.reports.push_back(std::move(row));
  }
}

// That a command was decided and its caller is told; durable where it is answered.
void ControlLoop::tell(const Command& command, std::string_view outcome, std::string_view code) const {
  if (!options_.log.is_on(log::Level::debug)) return;
  about(options_.log, command.origin)
      .debug("{} {}{}{}", outcome, command.actor, code.empty() ? "" : ": ", fmt::string_view(code.data(), code.size()));
}

void ControlLoop::tell_appended(const db::Batch& writes, std::int64_t took_us) const {
  if (writes.records.empty()) return;
  options_.log.debug("events {} to {} appended in {} us", writes.records.front().seq, writes.records.back().seq,
                     took_us);
}

}  // namespace railweave::control
