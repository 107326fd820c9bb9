#include "services/rest/json/jobs/launch.h"

#include <array>
#include <string>
#include <utility>

#include "fabric/base/text/time_text.h"
#include "services/json/contract_object.h"
#include "services/rest/json/time_value.h"

namespace railweave::api {
namespace {

using control::LaunchTerms;

struct TermField {
  std::string_view name;
  std::int64_t LaunchTerms::* member;
};
constexpr std::array<TermField, 4> kTerms{{{"acceptWithin", &LaunchTerms::accept_us},
                                           {"runWithin", &LaunchTerms::run_us},
                                           {"notice", &LaunchTerms::notice_us},
                                           {"releaseWithin", &LaunchTerms::release_us}}};

std::string text_of_us(std::int64_t us) { return duration_text(us / 1'000'000); }

constexpr std::size_t kMaxFreedNodes = 100'000;

}  // namespace

std::optional<LaunchTerms> read_launcher(ObjectReader& reader) {
  const Json* value = reader.take("launcher");
  if (value == nullptr) return std::nullopt;
  ObjectReader fields(*value, reader.pointer("launcher"));
  LaunchTerms terms;
  bool acknowledges = true;
  fields.read("acknowledges", acknowledges);
  fields.read("checkpointable", terms.checkpointable);
  for (const auto& [name, member] : kTerms) {
    std::optional<std::string> text;
    fields.read_text(name, text);
    if (!text) continue;
    const auto seconds = parse_duration_s(*text);
    const std::int64_t most_s = control::kMaxLaunchTime_us / 1'000'000;
    if (!seconds || *seconds < control::kLeastLaunchTime_us / 1'000'000 || *seconds > most_s) {
      fields.set_error(name, shown(*text) + " is no duration from PT1S to P7D", "like PT2M (ISO 8601)");
    } else {
      terms.*member = *seconds * 1'000'000;
    }
  }
  if (auto done = fields.finish(); !done) reader.set_error(std::move(done.error()));
  return acknowledges ? std::optional(terms) : std::nullopt;
}

Result<control::FreeJob> read_freed(control::JobId id, std::string_view body) {
  auto value = parse_json(body.empty() ? std::string_view("{}") : body);
  if (!value) return std::unexpected(value.error());
  control::FreeJob freed;
  freed.id = id;
  ObjectReader reader(*value, "");
  reader.read("nodes", freed.nodes, kMaxFreedNodes);
  std::optional<std::string> by;
  reader.read_text("by", by);
  if (by && *by != "launcher" && *by != "node")
    reader.set_error("by", shown(*by) + " says nothing of GPUs", "launcher or node");
  freed.by_node = by && *by == "node";
  if (reader.has("nodes") && freed.nodes.empty()) {
    reader.set_error("nodes", "names no node", "leave it out where all nodes are free");
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return freed;
}

Out move_json(const control::Job& job, const MessageReader& reader) {
  const control::Move& move = *job.move;
  const bool is_named = move.in_favour_of != control::JobId() && reader.sees(JobPart{move.in_favour_of.number()});
  const char* state = !move.accepted ? "offered" : job.is_releasing() || !job.holds_gpus() ? "moving" : "accepted";
  return object<"JobMove">(with<"state">(state),
                           with<"inFavourOf">(is_named ? Out(control::to_string(move.in_favour_of)) : Out(nullptr)),
                           with<"gpus">(move.gpu_of_rank.size()), with<"lostGpuSeconds">(move.lost_gpu_s),
                           with<"until">(time_or_null(move.deadline_us)), with<"reason">(move.reason.text(reader)));
}

Out phase_json(const control::Job& job) {
  if (!job.holds_gpus()) return nullptr;
  return control::to_string(job.launch ? job.launch->phase : control::LaunchPhase::running);
}

Out launcher_json(const control::Job& job, const MessageReader& reader) {
  if (!job.launch) return nullptr;
  const control::Launch& launch = *job.launch;
  Out release = nullptr;
  if (job.is_releasing()) {
    const bool is_named = launch.in_favour_of != control::JobId() && reader.sees(JobPart{launch.in_favour_of.number()});
    release = object<"JobLauncher.release">(
        with<"becomes">(control::to_string(launch.becomes)),
        with<"inFavourOf">(is_named ? Out(control::to_string(launch.in_favour_of)) : Out(nullptr)),
        with<"reason">(launch.reason.text(reader)), with<"overdue">(launch.overdue), with<"freedNodes">(launch.freed));
  }
  return object<"JobLauncher">(
      with<"acceptWithin">(text_of_us(launch.terms.accept_us)), with<"runWithin">(text_of_us(launch.terms.run_us)),
      with<"notice">(text_of_us(launch.terms.notice_us)), with<"releaseWithin">(text_of_us(launch.terms.release_us)),
      with<"checkpointable">(launch.terms.checkpointable), with<"deadline">(time_or_null(launch.deadline_us)),
      with<"expiredOffers">(launch.expired), with<"release">(std::move(release)), with<"left">(launch.left),
      with<"leftOverdue">(launch.overdue && !job.is_releasing()),
      with<"move">(job.move ? move_json(job, reader) : Out(nullptr)));
}

}  // namespace railweave::api
