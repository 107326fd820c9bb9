#include "services/railweave/views/step_times.h"

#include <cmath>
#include <cstdint>

#include <fmt/core.h>

#include "services/railweave/terminal/age.h"
#include "services/railweave/views/placement.h"

namespace railweave::cli {
namespace {

std::string control_text(const Json& period) {
  return "at " + text_of(period, "placing") + (flag_of(period, "routed") ? ", own routes" : "") +
         (flag_of(period, "guaranteed") ? ", guaranteed" : "");
}

std::string period_text(const Json& period) {
  const std::string predicted =
      field(period, "predictedMs").is_number() ? milliseconds(field(period, "predictedMs")) + " predicted" : "";
  if (!field(period, "stepMs").is_number()) {
    return "none counted yet (" + control_text(period) + (predicted.empty() ? "" : "; " + predicted) + ")";
  }
  std::string text = milliseconds(field(period, "stepMs"));
  if (field(period, "factor").is_number()) {
    text += fmt::format(", {:.2f} times the {}", field(period, "factor").get<double>(), predicted);
  }
  return fmt::format("{} (mean of {} steps, {})", text, text_of(period, "steps"), control_text(period));
}

std::int64_t permille_of(const Json& value, FieldName name) {
  const Json& number = field(value, name);
  return number.is_number_integer() ? number.get<std::int64_t>() : 0;
}

std::string percent(std::int64_t permille) { return fmt::format("{:.1f}%", static_cast<double>(permille) / 10); }

std::string jobs_text(std::uint64_t count) { return fmt::format("{} job{}", count, count == 1 ? "" : "s"); }

}  // namespace

void add_steps(Sheet& sheet, const Json& steps) {
  const Json& periods = list(steps, "periods");
  if (periods.empty()) return;
  const bool slow = flag_of(steps, "slow");
  sheet.add("Steps", {period_text(periods.back()) + ", reported " + age_of(steps, "reportedAt") + " ago",
                      slow ? Tone::warning : Tone::plain});
  for (std::size_t before = periods.size() - 1; before-- > 0;) {
    sheet.add("Steps before", period_text(periods[before]) + ", until " + time_of(periods[before], "until"));
  }
  if (!slow) return;
  const std::string path =
      field(steps, "onPath").is_string() ? text_of(steps, "onPath") : "nothing on its path is known to be the cause";
  sheet.add("Slow", {fmt::format("{:.2f} times as long as predicted; {}", field(steps, "factor").get<double>(), path),
                     Tone::warning});
}

std::string gain_text(const Json& gain) {
  const std::int64_t saved = permille_of(gain, "gainPermille");
  const Json& interval = field(gain, "interval");
  std::string text = text_of(gain, "step");
  if (field(gain, "scheduler").is_string()) {
    constexpr std::size_t kPartsShown = 5;
    const std::string parts = joined(list(gain, "parts"), kPartsShown);
    text += " (" + text_of(gain, "scheduler") + (list(gain, "parts").empty() ? "" : ": " + parts) + ")";
  }
  text += fmt::format(": steps take {} {} time", percent(std::abs(saved)), saved < 0 ? "more" : "less");
  if (interval.is_object()) {
    std::int64_t low = permille_of(interval, "lowPermille"), high = permille_of(interval, "highPermille");
    if (saved < 0) std::swap(low = -low, high = -high);
    text += fmt::format(" (95%: {} to {})", percent(low), percent(high));
  }
  const std::uint64_t with = count_of(gain, "jobsWith"), without = count_of(gain, "jobsWithout");
  const std::string of = text_of(gain, "of");
  if (of == "oneJob") return text + ", measured on one job before and after: no more than a hint";
  if (of == "sameJobs") return text + ", measured: " + jobs_text(with) + " before and after";
  return fmt::format("{}, measured: {} with it, {} without", text, jobs_text(with), without);
}

}  // namespace railweave::cli
