#include "services/control/state/job.h"

#include <utility>

namespace railweave::control {

std::string to_string(JobId id) { return job_name(id.number()); }

std::optional<JobId> parse_job_id(std::string_view text) {
  const auto number = job_number(text);
  return number ? std::optional(JobId(*number)) : std::nullopt;
}

void Job::note(JobChange change) {
  constexpr std::ptrdiff_t kFirst = 10;
  if (history.size() >= kMaxHistory) history.erase(history.begin() + kFirst);
  history.push_back(std::move(change));
}

}  // namespace railweave::control
