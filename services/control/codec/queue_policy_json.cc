#include "services/control/codec/queue_policy_json.h"

#include <array>
#include <utility>

#include "fabric/base/text/time_text.h"
#include "services/control/state/queue_rules.h"

namespace railweave::api {
namespace {

using scheduler::FairShareRule;
using scheduler::QueuePolicy;

constexpr std::array<std::pair<FairShareRule, std::string_view>, 3> kRules{
    {{FairShareRule::none, "none"}, {FairShareRule::running, "running"}, {FairShareRule::decayed, "decayed"}}};

std::string_view to_string(FairShareRule rule) {
  for (const auto& [value, name] : kRules) {
    if (value == rule) return name;
  }
  return "";
}

void read_classes(ObjectReader& reader, QueuePolicy& policy) {
  const Json* classes = reader.take("priorityClasses");
  if (classes == nullptr) return;
  if (!classes->is_array()) return reader.set_error("priorityClasses", "is not a list");
  policy.classes.clear();
  for (std::size_t i = 0; i < classes->size(); ++i) {
    ObjectReader fields((*classes)[i], reader.pointer("priorityClasses") + "/" + std::to_string(i));
    scheduler::PriorityClass priority;
    double value = 0;
    fields.require("name");
    fields.read("name", priority.name);
    fields.read("value", value);
    if (value != static_cast<std::int32_t>(value)) fields.set_error("value", "is not a whole number");
    priority.value = static_cast<std::int32_t>(value);
    fields.read("mayPreempt", priority.may_preempt);
    fields.read("preemptible", priority.preemptible);
    if (auto done = fields.finish(); !done) return reader.set_error(std::move(done.error()));
    policy.classes.push_back(std::move(priority));
  }
}

void read_time(ObjectReader& reader, const char* field, std::int64_t& into_us) {
  std::optional<std::string> text;
  reader.read(field, text);
  if (!text) return;
  const auto seconds = parse_duration_s(*text);
  if (!seconds) {
    return reader.set_error(field, shown(*text) + " is no duration", "like PT36H or P1DT12H (ISO 8601)");
  }
  into_us = *seconds * 1'000'000;
}

}  // namespace

Out to_json(const QueuePolicy& policy) {
  Out classes = Out::array();
  for (const auto& priority : policy.classes) {
    classes.push_back({{"name", priority.name},
                       {"value", priority.value},
                       {"mayPreempt", priority.may_preempt},
                       {"preemptible", priority.preemptible}});
  }
  const auto duration = [](std::int64_t us) { return duration_text(us / 1'000'000); };
  return {{"priorityClasses", std::move(classes)},
          {"backfill", railweave::to_text(policy.backfill)},
          {"fairShare", to_string(policy.fair_share)},
          {"halfLife", duration(policy.half_life_us)},
          {"defaultDuration", duration(policy.default_duration_us)},
          {"overrun", duration(policy.overrun_us)},
          {"starvationBound", duration(policy.starvation_bound_us)},
          {"leastRun", duration(policy.least_run_us)},
          {"reclaimAnyPriority", policy.reclaim_any_priority},
          {"reservedJobs", policy.reserved_jobs},
          {"preemptionPlans", policy.preemption_plans}};
}

Result<QueuePolicy> queue_policy_from_json(const Json& value) {
  QueuePolicy policy = control::default_queue_policy();
  ObjectReader reader(value, "");
  read_classes(reader, policy);
  std::string backfill(railweave::to_text(policy.backfill));
  reader.read("backfill", backfill);
  if (const auto parsed = parse_enum<scheduler::Backfill>(backfill)) {
    policy.backfill = *parsed;
  } else {
    reader.set_error("backfill", "there is no backfill " + shown(backfill), "none, easy or conservative");
  }
  std::string rule(to_string(policy.fair_share));
  reader.read("fairShare", rule);
  const auto* found = std::ranges::find(kRules, rule, &std::pair<FairShareRule, std::string_view>::second);
  if (found == kRules.end()) {
    reader.set_error("fairShare", "there is no rule " + shown(rule), "none, running or decayed");
  } else {
    policy.fair_share = found->first;
  }
  read_time(reader, "halfLife", policy.half_life_us);
  read_time(reader, "defaultDuration", policy.default_duration_us);
  read_time(reader, "overrun", policy.overrun_us);
  read_time(reader, "starvationBound", policy.starvation_bound_us);
  read_time(reader, "leastRun", policy.least_run_us);
  reader.read("reclaimAnyPriority", policy.reclaim_any_priority);
  reader.read("reservedJobs", policy.reserved_jobs);
  reader.read("preemptionPlans", policy.preemption_plans);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return policy;
}

}  // namespace railweave::api
