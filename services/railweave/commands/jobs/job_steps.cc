// railweave jobs report-steps: for training scripts that do not use the client for Python.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/commands/jobs/job_commands.h"
#include "services/railweave/commands/jobs/job_name.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/views/step_times.h"

namespace railweave::cli {
namespace {

constexpr std::uint64_t kMaxReportedSteps = 1'000'000'000;

struct StepsOptions {
  std::string job, workload;
  std::uint64_t steps = 0;
  double seconds = 0;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// The job that this process is part of.
std::string own_job() {
  if (std::string job = variable("RAILWEAVE_JOB"); !job.empty()) return job;
  if (const std::string array = variable("SLURM_ARRAY_JOB_ID"); !array.empty()) {
    return "slurm/" + array + "_" + variable("SLURM_ARRAY_TASK_ID");
  }
  if (const std::string job = variable("SLURM_JOB_ID"); !job.empty()) return "slurm/" + job;
  fail_usage("no job is named, and RAILWEAVE_JOB and SLURM_JOB_ID are not set", "name the job");
}

void report(Session& session, const StepsOptions& options) {
  const std::string id = job_id_of(session, options.job.empty() ? own_job() : options.job);
  Json body{{"steps", options.steps}, {"seconds", options.seconds}};
  const std::string workload = options.workload.empty() ? variable("SLURM_JOB_NAME") : options.workload;
  if (!workload.empty()) body["workload"] = workload;
  const Json answer = session.service().post(Target("/v1/jobs").segment(id).path("/steps"), body);
  if (session.output.is_document()) return session.output.document(answer);
  Sheet sheet;
  sheet.add("Job", id);
  add_steps(sheet, answer);
  session.output.text(sheet.text(session.output.terminal()));
}

}  // namespace

void add_job_steps_command(CLI::App& jobs, Session& session) {
  auto options = std::make_shared<StepsOptions>();
  CLI::App& command =
      add_command(jobs, "report-steps", "Report how long training steps of a job took",
                  {"railweave jobs report-steps job-000123 --steps 100 --seconds 83.2",
                   "railweave jobs report-steps slurm/48213 --steps 100 --seconds 83.2 --workload llama-70b"});
  command.add_option(
      "JOB", options->job,
      "Its id, its name where one job has it, or SCHEDULER/ID; by default the one that this process is of");
  add_number_option(command, "--steps", options->steps, "Number of steps since the last report", {1, kMaxReportedSteps})
      ->required();
  command.add_option("--seconds", options->seconds, "How long these steps took together")
      ->type_name("SECONDS")
      ->required()
      ->check(CLI::PositiveNumber);
  command.add_option("--workload", options->workload, "What it trains: jobs of the same workload are compared")
      ->type_name("NAME");
  on_run(command, session, [&session, options] { report(session, *options); });
}

}  // namespace railweave::cli
