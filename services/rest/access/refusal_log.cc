#include "services/rest/access/refusal_log.h"

#include <algorithm>
#include <string_view>

#include <fmt/core.h>

#include "services/rest/access/caller.h"

namespace railweave::api {
namespace {

constexpr std::size_t kMaxPath = 200;

std::string plain(std::string_view text) {
  std::string shown(text.substr(0, kMaxPath));
  std::ranges::replace_if(shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

}  // namespace

void RefusalLog::note(const AccessRecord& record, RateLimit::Clock::time_point now) {
  if (record.status != 401 && record.status != 403) return;
  if (lines_.take("", now) != 0) {
    ++left_out_;
    return;
  }
  std::string text = fmt::format("refused with {}: {} {} from {}", record.status, to_string(record.method),
                                 plain(record.path), record.remote_address);
  if (record.caller != nullptr) {
    text += fmt::format(" by {}, {}", plain(record.caller->name), to_text(record.caller->role));
    if (!record.caller->tenant.empty()) text += " of " + plain(record.caller->tenant);
    if (!record.caller->token.empty()) text += ", token " + record.caller->token;
  }
  text += ", request " + plain(record.request_id);
  if (const auto more = left_out_.exchange(0); more != 0) {
    text += fmt::format("; {} before it were not logged", more);
  }
  write_(text);
}

}  // namespace railweave::api
