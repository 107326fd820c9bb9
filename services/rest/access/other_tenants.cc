#include "services/rest/access/other_tenants.h"

#include <algorithm>

namespace railweave::api {
namespace {

constexpr std::string_view kBegin = "job-";
constexpr std::size_t kDigits = 6;  // at least

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool goes_on(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_'; }

}  // namespace

void hide_other_jobs(const control::ClusterState& state, std::string_view tenant, std::string_view known,
                     std::string& text) {
  for (auto at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
    const auto digits = at + kBegin.size();
    const auto end = static_cast<std::size_t>(
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(digits), text.end(), is_digit) - text.begin());
    const bool is_name =
        end - digits >= kDigits && (at == 0 || !goes_on(text[at - 1])) && (end == text.size() || !goes_on(text[end]));
    if (!is_name) continue;
    const std::string name = text.substr(at, end - at);
    const auto id = control::parse_job_id(name);
    const auto job = id ? state.jobs.find(*id) : nullptr;
    if ((job != nullptr && job->spec.tenant == tenant) || known.contains(name)) continue;
    text.replace(at, name.size(), kOtherJob);
  }
}

}  // namespace railweave::api
