#include "scheduler/queue/policy/queue_policy.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/core.h>

namespace railweave::scheduler {
namespace {

std::unexpected<Error> wrong(std::string message, std::string where, std::string hint = {}) {
  return fail(ErrorKind::invalid, "queue.invalidPolicy", std::move(message), std::move(where), std::move(hint));
}

Result<void> check_classes(const QueuePolicy& policy) {
  if (policy.classes.size() > QueuePolicy::kMaxClasses) return wrong("too many priority classes", "/classes");
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < policy.classes.size(); ++i) {
    const std::string where = fmt::format("/classes/{}/name", i);
    if (policy.classes[i].name.empty()) return wrong("a priority class needs a name", where);
    if (!names.insert(policy.classes[i].name).second) {
      return wrong("priority class '" + policy.classes[i].name + "' is defined twice", where);
    }
  }
  return {};
}

Result<void> check_tenants(const QueuePolicy& policy) {
  if (policy.tenants.size() > QueuePolicy::kMaxTenants) return wrong("too many tenants", "/tenants");
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < policy.tenants.size(); ++i) {
    const TenantQuota& tenant = policy.tenants[i];
    const std::string where = fmt::format("/tenants/{}", i);
    if (tenant.name.empty()) return wrong("a tenant needs a name", where + "/name");
    if (!names.insert(tenant.name).second)
      return wrong("tenant '" + tenant.name + "' is defined twice", where + "/name");
    if (!(tenant.weight > 0) || !std::isfinite(tenant.weight)) {
      return wrong("the weight of tenant '" + tenant.name + "' must be above 0", where + "/weight");
    }
    if (!tenant.cohort.empty() && !tenant.nominal_gpus) {
      return wrong("tenant '" + tenant.name + "' is in cohort '" + tenant.cohort + "' without a nominal quota",
                   where + "/nominalGpus", "set nominalGpus to what it may always have, 0 if it only borrows");
    }
    if (tenant.borrow_gpus && tenant.cohort.empty()) {
      return wrong("tenant '" + tenant.name + "' may borrow but is in no cohort", where + "/borrowGpus");
    }
  }
  return {};
}

Result<void> check_windows(const QueuePolicy& policy) {
  if (policy.windows.size() > QueuePolicy::kMaxWindows) {
    return wrong(fmt::format("more than {} windows", QueuePolicy::kMaxWindows), "/windows",
                 "remove those that are over, or merge maintenance at one time into one window");
  }
  for (std::size_t i = 0; i < policy.windows.size(); ++i) {
    const QueueWindow& window = policy.windows[i];
    const std::string where = fmt::format("/windows/{}", i);
    if (window.to_us <= window.from_us) return wrong("window '" + window.name + "' ends before it begins", where);
    if (window.kind == QueueWindow::Kind::reservation && window.tenant.empty()) {
      return wrong("reservation '" + window.name + "' names no tenant", where + "/tenant");
    }
    const std::set<fabric::GpuId> once(window.gpus.begin(), window.gpus.end());
    if (once.size() != window.gpus.size()) return wrong("window '" + window.name + "' names a GPU twice", where);
  }
  return {};
}

}  // namespace

Result<void> check_queue_policy(const QueuePolicy& policy) {
  if (auto checked = check_classes(policy); !checked) return checked;
  if (auto checked = check_tenants(policy); !checked) return checked;
  if (auto checked = check_windows(policy); !checked) return checked;
  if (policy.half_life_us <= 0) return wrong("halfLife must be above 0", "/halfLife");
  if (policy.default_duration_us <= 0) return wrong("defaultDuration must be above 0", "/defaultDuration");
  if (policy.overrun_us <= 0) return wrong("overrun must be above 0", "/overrun");
  if (policy.starvation_bound_us < 0) return wrong("starvationBound must not be negative", "/starvationBound");
  if (policy.least_run_us < 0) return wrong("minRuntime must not be negative", "/minRuntime");
  const PlaceWait& wait = policy.place_wait;
  if (wait.most_us < 0) return wrong("placeWait must not be negative", "/placeWait");
  if (!(wait.share >= 0 && wait.share <= PlaceWait::kMaxShare)) {
    return wrong("placeWaitShare is from 0 to 100", "/placeWaitShare");
  }
  if (!(wait.gain >= 0 && wait.gain <= PlaceWait::kMaxGain)) {
    return wrong("placeWaitGain is from 0 to 100", "/placeWaitGain");
  }
  const MoveRules& moves = policy.moves;
  if (moves.after_us < 0) return wrong("moveAfter must not be negative", "/moveAfter");
  if (!(moves.budget_gpu_s >= 0 && std::isfinite(moves.budget_gpu_s))) {
    return wrong("moveBudget must not be negative", "/moveBudget");
  }
  if (moves.at_once > MoveRules::kMaxAtOnce) {
    return wrong(fmt::format("movesAtOnce is at most {}", MoveRules::kMaxAtOnce), "/movesAtOnce");
  }
  if (moves.answer_us <= 0) return wrong("moveAnswer must be above 0", "/moveAnswer");
  if (policy.reserved_jobs > QueuePolicy::kMaxReservedJobs) return wrong("too many reserved jobs", "/reservedJobs");
  return {};
}

const PriorityClass* find_class(const QueuePolicy& policy, std::string_view name) {
  const auto at = std::ranges::find(policy.classes, name, &PriorityClass::name);
  return at == policy.classes.end() ? nullptr : &*at;
}

}  // namespace railweave::scheduler
