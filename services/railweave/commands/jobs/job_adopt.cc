// railweave jobs adopt.

#include "fabric/base/whole_number.h"
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/jobs/job_commands.h"
#include "services/railweave/commands/jobs/job_request.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/views/job.h"

namespace railweave::cli {
namespace {

struct AdoptOptions {
  JobOptions job;
  std::vector<std::string> on;
  std::string idempotency_key;
};

Json gpu_list(const std::string& place, std::size_t from) {
  Json gpus = Json::array();
  for (std::size_t at = from; at <= place.size();) {
    const std::size_t end = std::min(place.find(',', at), place.size());
    const auto gpu = whole_number<std::uint32_t>(std::string_view(place).substr(at, end - at));
    if (!gpu) fail_usage("'" + place + "' is no node with GPUs", "name it as NODE or NODE:0,1,2,3");
    gpus.push_back(*gpu);
    at = end + 1;
  }
  return gpus;
}

// Nodes in the order of ranks, each with its GPUs or all with all of theirs.
Json adopted_place(const std::vector<std::string>& on) {
  Json ranks = Json::array();
  Json nodes = Json::array();
  for (const std::string& place : on) {
    const auto colon = place.rfind(':');
    if (colon == std::string::npos) {
      nodes.push_back(place);
    } else {
      ranks.push_back({{"node", place.substr(0, colon)}, {"gpus", gpu_list(place, colon + 1)}});
    }
  }
  if (!ranks.empty() && !nodes.empty()) {
    fail_usage("some nodes are named with their GPUs and others without", "name the GPUs of all of them, or of none");
  }
  return ranks.empty() ? Json{{"nodes", std::move(nodes)}} : Json{{"ranks", std::move(ranks)}};
}

}  // namespace

void add_job_adopt_command(CLI::App& jobs, Session& session) {
  auto options = std::make_shared<AdoptOptions>();
  CLI::App& command =
      add_command(jobs, "adopt", "Take over a job that runs already, exactly where it runs",
                  {"railweave jobs adopt --tenant research --tp 8 --dp 2 --on dgx-001 --on dgx-002",
                   "railweave jobs adopt --tenant research --tp 2 --dp 2 --on dgx-001:4,5 --on dgx-002:4,5"});
  add_job_options(command, options->job);
  command
      .add_option("--on", options->on,
                  "A node with its GPUs, in the order of ranks; without GPUs all of the node. Repeatable")
      ->type_name("NODE[:GPU,GPU]")
      ->allow_extra_args(false)
      ->required();
  command
      .add_option("--idempotency-key", options->idempotency_key,
                  "Unique key of this request: repeating the request with it creates no second job")
      ->type_name("KEY");
  on_run(command, session, [&session, options] {
    Json body = job_request(options->job);
    body["adopt"] = adopted_place(options->on);
    api::ClientRequest request = json_request(api::Method::post, Target("/v1/jobs"), body);
    if (!options->idempotency_key.empty()) request.headers.add("Idempotency-Key", options->idempotency_key);
    const Json job = session.service().send(std::move(request)).body;
    if (session.output.is_document()) return session.output.document(job);
    print_job(session.output, job);
  });
}

}  // namespace railweave::cli
