#include "services/rest/access/request_log.h"

#include <string>

#include "services/rest/access/caller.h"

namespace railweave::api {

RequestLog::RequestLog(const log::Log& log, Options options)
    : log_(log.of(log::Subject::rest)),
      options_(options),
      refusals_([this](const std::string& text) { log_.warn("{}", text); }) {}

void RequestLog::note(const AccessRecord& record, RateLimit::Clock::time_point now) {
  constexpr int kFailed = 500;  // statuses from here on are the service's own failures
  refusals_.note(record, now);
  const bool failed = record.status >= kFailed;
  const bool slow = record.is_timed && std::chrono::microseconds(record.duration_us) > options_.slow;
  const bool warns = (failed || slow) && warnings_.take("", now) == 0;
  const log::Level level = warns ? log::Level::warn : options_.all ? log::Level::info : log::Level::debug;
  if (!log_.is_on(level)) return;
  const std::string who = record.caller == nullptr ? std::string() : " by " + record.caller->actor();
  log_.span("request", record.request_id)
      .write(level, "{}{} {} {} {} {} B {} us{}",
             failed ? "failed: "
             : slow ? "slow: "
                    : "",
             record.remote_address, to_string(record.method), record.path, record.status, record.sent_bytes,
             record.duration_us, who);
}

}  // namespace railweave::api
