// railweave jobs accept|running|freed|accept-move|decline-move: what a launcher says of the jobs that it starts.
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/jobs/job_commands.h"
#include "services/railweave/commands/jobs/job_name.h"
#include "services/railweave/views/job.h"

namespace railweave::cli {
namespace {

constexpr ResourceKind kLaunchedJob{"/v1/jobs", "job", "JOB", kJobMeaning, print_job};

std::string stand(const Json& job) {
  const std::string phase = text_of(job, "phase");
  return phase.empty() || phase == "-" ? text_of(job, "state") : phase;
}

void say(Session& session, const std::string& id, const char* what, const Json& body) {
  const Json job = session.service().post(Target(kLaunchedJob.path).segment(job_id_of(session, id)).path(what), body);
  Output& output = session.output;
  if (output.is_document()) return output.document(job);
  Sheet sheet;
  sheet.add(id, {stand(job), Tone::plain});
  output.text(sheet.text(output.terminal()));
}

}  // namespace

void add_job_launch_commands(CLI::App& jobs, Session& session) {
  struct Step {
    const char *name, *path, *about, *example;
  };
  for (const Step& step :
       {Step{"accept", "/accept", "Accept the offer of a job that its launcher acknowledges",
             "railweave jobs accept job-000003"},
        Step{"accept-move", "/move/accept", "Accept the other place that a running job is offered",
             "railweave jobs accept-move job-000003"},
        Step{"decline-move", "/move/decline", "Decline the other place that a running job is offered",
             "railweave jobs decline-move job-000003"},
        Step{"running", "/running", "Report that the processes of a job run", "railweave jobs running job-000003"}}) {
    CLI::App& command = add_command(jobs, step.name, step.about, {step.example});
    auto names = add_names(command, kLaunchedJob);
    on_run(command, session, [&session, names, path = step.path] {
      for_each_name(session, *names, [&](const std::string& id) { say(session, id, path, Json::object()); });
    });
  }
  struct FreedOptions {
    std::string id;
    std::vector<std::string> nodes;
  };
  auto options = std::make_shared<FreedOptions>();
  CLI::App& freed = add_command(jobs, "freed", "Report that the processes of a job have left its nodes",
                                {"railweave jobs freed job-000003", "railweave jobs freed job-000003 --node dgx-017"});
  freed.add_option(kLaunchedJob.argument, options->id, kLaunchedJob.meaning)->required();
  freed.add_option("--node", options->nodes, "Only this node, as one that its ranks left by a repair; repeatable")
      ->type_name("NODE")
      ->allow_extra_args(false);
  on_run(freed, session, [&session, options] {
    Json body = Json::object();
    if (!options->nodes.empty()) body["nodes"] = options->nodes;
    say(session, options->id, "/freed", body);
  });
}

}  // namespace railweave::cli
