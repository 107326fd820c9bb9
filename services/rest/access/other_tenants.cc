#include "services/rest/access/other_tenants.h"

#include <algorithm>

namespace railweave::api {
namespace {

constexpr std::string_view kBegin = "job-";
constexpr std::size_t kDigits = 6;  // at least

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool goes_on(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_'; }

// The end of what follows a job's name and says more of it: " 'name'", " of <tenant>", " 40 Gb/s".
std::size_t end_of_description(const control::ClusterState& state, std::string_view text, std::size_t at) {
  if (text.substr(at).starts_with(" '")) {
    const auto quote = text.find('\'', at + 2);
    if (quote != std::string_view::npos) at = quote + 1;
  }
  if (constexpr std::string_view kOf = " of "; text.substr(at).starts_with(kOf)) {
    const auto from = at + kOf.size();
    const auto end = std::min(text.find_first_of(" \"',:;()", from), text.size());
    if (state.tenants->contains(text.substr(from, end - from))) at = end;
  }
  if (at + 1 < text.size() && text[at] == ' ' && is_digit(text[at + 1])) {
    const auto unit = text.find_first_not_of("0123456789.", at + 1);
    if (unit != std::string_view::npos && text.size() - unit >= 5 && text[unit] == ' ' &&
        text.substr(unit + 2).starts_with("b/s")) {
      at = unit + 5;
    }
  }
  return at;
}

// Reservations are named in quotes. One that is over may have been of anyone, where the text says that it was one.
void hide_other_reservations(const control::ClusterState& state, std::string_view tenant, std::string& text) {
  constexpr std::size_t kMaxReservation = 63;
  bool one_before = false;  // in a list of them
  for (auto at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 1)) {
    const auto from = at + 1;
    const auto end = text.find('\'', from);
    if (end == std::string::npos) return;
    const std::string_view before = std::string_view(text).substr(0, at);
    const bool one = before.ends_with("would overlap ") || before.ends_with("set aside for others meanwhile: ") ||
                     (one_before && before.ends_with("', "));
    const auto known = end - from > kMaxReservation
                           ? state.reservations->end()
                           : state.reservations->find(std::string_view(text).substr(from, end - from));
    const bool is_known = known != state.reservations->end();
    const bool own = is_known && (known->second.window.tenant.empty() || known->second.window.tenant == tenant);
    if (!own && (one || is_known)) {
      text.replace(from, end - from, kOtherReservation);
      at = from + kOtherReservation.size();
    } else if (one || is_known) {
      at = end;
    }
    one_before = one;
  }
}

}  // namespace

bool is_job_of(const control::ClusterState& state, std::string_view tenant, std::string_view job) {
  const auto id = control::parse_job_id(job);
  const auto known = id ? state.jobs.find(*id) : nullptr;
  return known != nullptr && known->spec.tenant == tenant;
}

void hide_others(const control::ClusterState& state, std::string_view tenant, std::string_view known,
                 std::string& text) {
  hide_other_reservations(state, tenant, text);
  for (auto at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
    const auto digits = at + kBegin.size();
    const auto end = static_cast<std::size_t>(
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(digits), text.end(), is_digit) - text.begin());
    const bool is_name =
        end - digits >= kDigits && (at == 0 || !goes_on(text[at - 1])) && (end == text.size() || !goes_on(text[end]));
    if (!is_name) continue;
    const std::string name = text.substr(at, end - at);
    if (is_job_of(state, tenant, name) || known.contains(name)) continue;
    text.replace(at, end_of_description(state, text, end) - at, kOtherJob);
  }
}

}  // namespace railweave::api
