#include "services/control/codec/queue_policy_json.h"

#include "fabric/base/text/time_text.h"
#include "services/control/state/queue_rules.h"
#include "services/json/contract_object.h"

namespace railweave::api {
namespace {

using scheduler::FairShareRule;
using scheduler::PlaceWait;
using scheduler::PriorityClass;
using scheduler::QueuePolicy;

using scheduler::MoveRules;

constexpr ByText kMoves{
    [](bool automatic) { return std::string_view(automatic ? "automatic" : "onRequest"); },
    [](std::string_view text) {
      return text == "automatic" ? std::optional(true) : text == "onRequest" ? std::optional(false) : std::nullopt;
    },
    "rule", "onRequest or automatic"};
constexpr ByText kWaitPlace{
    [](bool yields) { return std::string_view(yields ? "yielded" : "kept"); },
    [](std::string_view text) {
      return text == "yielded" ? std::optional(true) : text == "kept" ? std::optional(false) : std::nullopt;
    },
    "rule", "kept or yielded"};
constexpr ByText kUnanswered{
    [](bool evict) { return std::string_view(evict ? "evict" : "keep"); },
    [](std::string_view text) {
      return text == "evict" ? std::optional(true) : text == "keep" ? std::optional(false) : std::nullopt;
    },
    "rule", "keep or evict"};

constexpr Names<FairShareRule, 3> kRules{
    {{"none", FairShareRule::none}, {"running", FairShareRule::running}, {"decayed", FairShareRule::decayed}}};

// A whole number that may be negative.
struct SignedInteger {
  void read(ObjectReader& reader, std::string_view name, std::int32_t& into) const {
    double value = into;
    reader.read(name, value);
    if (value != static_cast<std::int32_t>(value)) reader.set_error(name, "is not a whole number");
    into = static_cast<std::int32_t>(value);
  }
  [[nodiscard]] Out write(std::int32_t value) const { return value; }
};

// Microseconds as an ISO 8601 duration of whole seconds.
struct Duration {
  void read(ObjectReader& reader, std::string_view name, std::int64_t& into_us) const {
    std::optional<std::string> text;
    reader.read_text(name, text);
    if (!text) return;
    const auto seconds = parse_duration_s(*text);
    if (!seconds) {
      return reader.set_error(name, shown(*text) + " is no duration", "like PT36H or P1DT12H (ISO 8601)");
    }
    into_us = *seconds * 1'000'000;
  }
  [[nodiscard]] Out write(std::int64_t us) const { return duration_text(us / 1'000'000); }
};

template <class Member>
constexpr auto in_wait(Member member) {
  return [member](auto& policy) -> auto& { return policy.place_wait.*member; };
}

template <class Member>
constexpr auto in_moves(Member member) {
  return [member](auto& policy) -> auto& { return policy.moves.*member; };
}

constexpr auto kClassFields = fields<"QueueRuleFields.priorityClasses">(
    required_field<"name">(&PriorityClass::name), field<"value">(&PriorityClass::value, SignedInteger{}),
    field<"mayPreempt">(&PriorityClass::may_preempt), field<"preemptible">(&PriorityClass::preemptible));
constexpr auto kPolicyFields = fields<"QueueRuleFields">(
    field<"priorityClasses">(&QueuePolicy::classes, list_of<PriorityClass>(kClassFields)),
    field<"backfill">(&QueuePolicy::backfill,
                      ByText{[](scheduler::Backfill backfill) { return railweave::to_text(backfill); },
                             [](std::string_view text) { return parse_enum<scheduler::Backfill>(text); }, "backfill",
                             "none, easy or conservative"}),
    field<"fairShare">(&QueuePolicy::fair_share, OneOf{kRules, "rule"}),
    field<"halfLife">(&QueuePolicy::half_life_us, Duration{}),
    field<"defaultDuration">(&QueuePolicy::default_duration_us, Duration{}),
    field<"overrun">(&QueuePolicy::overrun_us, Duration{}),
    field<"starvationBound">(&QueuePolicy::starvation_bound_us, Duration{}),
    field<"minRuntime">(&QueuePolicy::least_run_us, Duration{}),
    field<"reclaimAnyPriority">(&QueuePolicy::reclaim_any_priority), field<"reservedJobs">(&QueuePolicy::reserved_jobs),
    field<"preemptionPlans">(&QueuePolicy::preemption_plans),
    optional_field<"placeWait">(in_wait(&PlaceWait::most_us), Duration{}),
    optional_field<"placeWaitPlace">(in_wait(&PlaceWait::yields), kWaitPlace),
    optional_field<"placeWaitShare">(in_wait(&PlaceWait::share)),
    optional_field<"placeWaitGain">(in_wait(&PlaceWait::gain)),
    optional_field<"moves">(in_moves(&MoveRules::automatic), kMoves),
    optional_field<"moveAfter">(in_moves(&MoveRules::after_us), Duration{}),
    optional_field<"moveBudget">(in_moves(&MoveRules::budget_gpu_s)),
    optional_field<"movesAtOnce">(in_moves(&MoveRules::at_once)),
    optional_field<"moveAnswer">(in_moves(&MoveRules::answer_us), Duration{}),
    optional_field<"moveUnanswered">(in_moves(&MoveRules::evict_unanswered), kUnanswered));

// Where answers say what the journal leaves out.
constexpr std::tuple kShownFields{field("placeWait", in_wait(&PlaceWait::most_us), Duration{}),
                                  field("placeWaitPlace", in_wait(&PlaceWait::yields), kWaitPlace),
                                  field("placeWaitShare", in_wait(&PlaceWait::share)),
                                  field("placeWaitGain", in_wait(&PlaceWait::gain)),
                                  field("moves", in_moves(&MoveRules::automatic), kMoves),
                                  field("moveAfter", in_moves(&MoveRules::after_us), Duration{}),
                                  field("moveBudget", in_moves(&MoveRules::budget_gpu_s)),
                                  field("movesAtOnce", in_moves(&MoveRules::at_once)),
                                  field("moveAnswer", in_moves(&MoveRules::answer_us), Duration{}),
                                  field("moveUnanswered", in_moves(&MoveRules::evict_unanswered), kUnanswered)};

}  // namespace

Out to_json(const QueuePolicy& policy) { return fields_json(policy, kPolicyFields); }

Out shown_policy(const QueuePolicy& policy) {
  Out value = to_json(policy);
  write_fields(value, policy, kShownFields);
  return value;
}

Result<QueuePolicy> queue_policy_of_journal(const Json& value) {
  if (!value.is_object() || !value.contains("leastRun")) return queue_policy_from_json(value);
  Json renamed = value;
  renamed["minRuntime"] = std::move(renamed["leastRun"]);
  renamed.erase("leastRun");
  return queue_policy_from_json(renamed);
}

Result<QueuePolicy> queue_policy_from_json(const Json& value) {
  return record_from_json(value, "", kPolicyFields, control::default_queue_policy());
}

}  // namespace railweave::api
