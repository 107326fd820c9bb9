// railweave lab place: places a job on the empty fabric of a file.
#include <chrono>
#include <cstdio>

#include "scheduler/placement/placer.h"
#include "scheduler/placement/shape_choice.h"
#include "services/railweave/commands/jobs/job_request.h"
#include "services/railweave/lab/fabric_file.h"
#include "services/railweave/lab/lab_commands.h"
#include "services/railweave/lab/placement_report.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/views/placement.h"
#include "services/railweave/views/ranks.h"
#include "services/rest/json/jobs/job_spec.h"
#include "services/rest/json/jobs/placement_value.h"

namespace railweave::cli {
namespace {

struct LabPlaceOptions {
  FabricFileOptions fabric;
  JobOptions job;
  RankOptions ranks;
};

struct TimedPlacement {
  scheduler::PlacementResult result;
  double place_us = 0;
};

// The service keeps its indexes between placements, so the measured placement is the second one, with indexes built.
TimedPlacement place(scheduler::Placer& placer, scheduler::JobSpec& spec) {
  using Clock = std::chrono::steady_clock;
  static_cast<void>(place_in_best_shape(placer, spec));
  const auto started = Clock::now();
  TimedPlacement placement{place_in_best_shape(placer, spec), 0};
  placement.place_us = std::chrono::duration<double, std::micro>(Clock::now() - started).count();
  return placement;
}

void print(Output& output, const Json& answer, const Json& parallelism, const RankOptions& options) {
  if (text_of(answer, "outcome") != "placed") return print_explanation(output, answer);
  const Json& ranks = list(answer, "ranks");
  Sheet sheet;
  sheet.add("Outcome", {"placed", Tone::good});
  sheet.add("GPUs", std::to_string(ranks.size()));
  add_placement(sheet, answer);
  add_prediction(sheet, answer);
  char took[32];
  std::snprintf(took, sizeof took, "%.1f us", field(answer, foreign("placeUs")).get<double>());
  sheet.add("Placed in", took);
  output.text(sheet.text(output.terminal()));
  print_shapes(output, answer);
  output.text("\n");
  print_ranks(output, ranks, ranks.size(), parallelism, options);
}

void run(Session& session, const LabPlaceOptions& options) {
  Output& output = session.output;
  const Json body = job_request(options.job);
  auto spec = value_or_fail(api::read_job_spec(compact_json(body)));
  const FabricFile file = read_fabric_file(options.fabric);
  const auto fabric = std::make_shared<const scheduler::PlacementFabric>(file.topology);
  scheduler::Placer placer(fabric);
  const auto [result, place_us] = place(placer, spec);
  session.exit_code = exit_code_of_outcome(api::to_string(result.outcome));
  const Json answer = placement_report(spec, result, *fabric, place_us);
  if (output.is_document()) {
    output.document(answer);
  } else {
    print(output, answer, parallelism_taken(answer, body), options.ranks);
  }
  if (file.topology->gpus().empty()) {
    output.note("railweave: note: the file lists no GPUs; --gpus-per-node N adds them to every compute host");
  }
  for (const auto& warning : result.warnings) output.note("railweave: note: " + warning);
}

}  // namespace

void add_lab_place_command(CLI::App& lab, Session& session) {
  auto options = std::make_shared<LabPlaceOptions>();
  CLI::App& command = add_command(
      lab, "place", "Place a job on the empty fabric of a file",
      {"railweave lab place fabric.json --tp 8 --pp 4 --dp 3",
       "railweave lab place dump.ibnetdiscover --gpus-per-node 8 --nvlink-domain 8 --tp 8 --dp 14 -o json"});
  add_fabric_file_options(command, options->fabric);
  add_job_options(command, options->job, GpusPerNode::of_the_fabric);
  add_rank_options(command, options->ranks);
  on_run(command, session, [&session, options] { run(session, *options); });
}

}  // namespace railweave::cli
