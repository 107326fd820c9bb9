// Marks of packets, and how long an adapter waits for an answer to one.
#include <optional>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "services/railweave/assess/nccl_checks.h"

namespace railweave::cli {
namespace {

constexpr int kMaxServiceLevel = 15, kMaxTrafficClass = 255, kMaxTimeout = 31;
constexpr int kTrafficClassPerDscp = 4;

std::optional<int> number_of(const CheckedEnvironment& checked, const char* name) {
  return whole_number<int>(checked.environment.value(name));
}

int mark_of(const fabric::QosClasses& classes, std::size_t i, bool service_level) {
  return service_level ? fabric::class_number(classes, i) : classes[i].dscp * kTrafficClassPerDscp;
}

void check_mark(const CheckedEnvironment& checked, std::vector<Advice>& advice, const char* name, bool service_level) {
  const auto value = number_of(checked, name);
  if (!value) return;
  const int most = service_level ? kMaxServiceLevel : kMaxTrafficClass;
  if (*value < 0 || *value > most) {
    Advice one =
        checked.advice("ncclMarkImpossible", "error", checked.setting(name) + " is no value that packets can carry");
    one.sure = fmt::format("certain: the field ends at {}", most);
    one.cost = "connections fail, or are in another class than meant";
    one.action = fmt::format("unset it, or take a value from 0 to {}", most);
    return advice.push_back(std::move(one));
  }
  if (!checked.site.classes) return;
  const fabric::QosClasses& classes = *checked.site.classes;
  // The low two bits of a traffic class are congestion marks.
  const int mark = service_level ? *value : *value - *value % kTrafficClassPerDscp;
  std::string known;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (mark_of(classes, i, service_level) == mark) return;
    known += fmt::format("{}{} {}", known.empty() ? "" : ", ", mark_of(classes, i, service_level), classes[i].name);
  }
  Advice one = checked.advice("ncclClassUnknown", "error", checked.setting(name) + " is of no traffic class");
  one.sure = "certain for the classes of " + checked.site.classes_from;
  one.cost = "packets are in the class of those that nothing marks, or dropped where switches filter what hosts send";
  one.action = "take one of: " + known;
  advice.push_back(std::move(one));
}

void check_timeout(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  const auto value = number_of(checked, "NCCL_IB_TIMEOUT");
  if (!value || (*value > 0 && *value <= kMaxTimeout)) return;
  Advice one = checked.advice("ncclWaitsForever", "warning",
                              checked.setting("NCCL_IB_TIMEOUT") + " makes NCCL wait without end");
  one.sure = fmt::format("certain: 0, and what is above {}, mean no limit", kMaxTimeout);
  one.cost = "a job that lost a link hangs with its GPUs instead of failing";
  one.action = "unset it; 20 is the default of NCCL 2.23 and later, 22 waits 2 minutes";
  advice.push_back(std::move(one));
}

}  // namespace

void check_marks(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  if (!checked.may_span_hosts()) return;
  check_mark(checked, advice, "NCCL_IB_SL", true);
  check_mark(checked, advice, "NCCL_IB_TC", false);
  check_timeout(checked, advice);
}

}  // namespace railweave::cli
