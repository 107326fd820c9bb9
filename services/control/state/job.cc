#include "services/control/state/job.h"

#include <charconv>
#include <utility>

namespace railweave::control {
namespace {

constexpr std::string_view kPrefix = "job-";

}  // namespace

std::string to_string(JobId id) {
  std::string digits = std::to_string(id.number());
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  return std::string(kPrefix) + digits;
}

std::optional<JobId> parse_job_id(std::string_view text) {
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return std::nullopt;
  return JobId(number);
}

void Job::note(JobChange change) {
  constexpr std::ptrdiff_t kFirst = 10;
  if (history.size() >= kMaxHistory) history.erase(history.begin() + kFirst);
  history.push_back(std::move(change));
}

}  // namespace railweave::control
