#include "services/slurm/hooks.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <fmt/core.h>

#include "fabric/formats/slurm/hostlist.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/slurm/job_body.h"
#include "services/slurm/placements.h"

namespace railweave::slurm {
namespace {

using cli::Json;
using cli::Target;
using Clock = std::chrono::steady_clock;

std::vector<std::string> in_order(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

std::string placement_of(cli::Service& service, const std::string& cluster, const std::string& key) {
  std::string id;
  service.each_item(
      Target("/v1/jobs").query("state", "placed").query("fields", "id").query("name", placement_name(cluster, key)), 0,
      [&](const Json& job) { id = cli::text_of(job, "id"); }, [&] { id.clear(); });
  return id;
}

// Where it has moved it is the placement of an earlier start.
std::string placement_of_start(cli::Service& service, const std::string& cluster, const SlurmJob& job) {
  std::string id = placement_of(service, cluster, job.key());
  if (!is_checkpointable(job)) return id;
  for (unsigned start = job.restarts; id.empty() && start-- > 0;) {
    id = placement_of(service, cluster, job.key_of_start(start));
  }
  return id;
}

// What the job's ports lack. Keys and classes follow the state within one step of a subnet's controller, milliseconds.
std::string missing_on_ports(cli::Service& service, const std::string& id) {
  const Json answer = service.get(Target("/v1/jobs").segment(id).path("/ports"));
  if (cli::flag_of(answer, "ready")) return {};
  for (const Json& port : cli::list(answer, "pending"))
    return "port " + cli::text_of(port, "port") + " of " + cli::text_of(port, "device") +
           " does not have its class and keys: " + cli::text_of(port, "reason");
  for (const Json& subnet : cli::list(answer, "subnets")) {
    if (!cli::text_of(subnet, "problem").empty())
      return "subnet " + cli::text_of(subnet, "subnet") + ": " + cli::text_of(subnet, "problem");
  }
  return "its ports are not ready";
}

}  // namespace

HookJob read_hook_job(const std::function<const char*(const char* name)>& environment) {
  const auto text = [&](const char* name) {
    const char* value = environment(name);
    return std::string(value == nullptr ? "" : value);
  };
  HookJob job{.cluster = text("SLURM_CLUSTER_NAME"),
              .number = text("SLURM_JOB_ID"),
              .restarts = static_cast<unsigned>(std::strtoul(text("SLURM_JOB_RESTART_COUNT").c_str(), nullptr, 10)),
              .node = text("SLURMD_NODENAME"),
              .has_gpus = !text("SLURM_JOB_GPUS").empty()};
  if (auto nodes = fabric::expand_hostlist(text("SLURM_JOB_NODELIST"))) job.nodes = in_order(std::move(*nodes));
  return job;
}

std::string Hooks::missing(const HookJob& job, const SlurmJob& known) {
  try {
    if (held_.empty()) {
      std::string id = placement_of_start(service_, job.cluster, known);
      if (id.empty()) return "Railweave does not hold its GPUs";
      const Json held = service_.get(Target("/v1/jobs").segment(id));
      std::vector<std::string> nodes;
      for (const Json& node : cli::list(held, "nodeList")) nodes.push_back(cli::text_of(node));
      if (in_order(std::move(nodes)) != job.nodes) return "Railweave holds GPUs of other nodes for it";
      held_ = std::move(id);
    }
    return missing_on_ports(service_, held_);
  } catch (const cli::CommandFailure& failure) {
    return failure.error().text();
  }
}

void Hooks::prolog(const HookJob& job, double within_s) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(within_s);
  const auto known = slurm_.job(job.number);
  if (!known) return say_("job " + job.number + " starts unseen: " + known.error().text());
  if (!*known || (*known)->gpus == 0) return;
  auto pause = std::chrono::milliseconds(100);
  while (true) {
    const std::string lacks = missing(job, **known);
    if (lacks.empty()) return;
    if (Clock::now() + pause >= deadline) return say_("job " + job.number + " starts all the same: " + lacks);
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(1000));
  }
}

void Hooks::epilog(const HookJob& job) {
  if (!job.has_gpus || job.node.empty()) return;
  const auto held = [&](const std::string& number) {
    for (const unsigned back : {0U, 1U}) {
      if (back > job.restarts) break;
      std::string id = placement_of(service_, job.cluster, fmt::format("{}.{}", number, job.restarts - back));
      if (!id.empty()) return id;
    }
    return std::string();
  };
  std::string id = held(job.number);
  if (id.empty()) {
    const auto known = slurm_.job(job.number);
    // A task of an array, or a part of a heterogeneous job: its placement has another number.
    if (known && *known && (*known)->id != job.number) id = held((*known)->id);
    if (known && *known && id.empty()) id = placement_of_start(service_, job.cluster, **known);
  }
  if (id.empty()) return;
  const auto post = [&](const char* what, const Json& body) {
    service_.send(cli::json_request(api::Method::post, Target("/v1/jobs").segment(id).path(what), body),
                  [](int status) { return status == 404 || status == 409 || status == 422; });
  };
  const bool goes_on = is_moving(service_.get(Target("/v1/jobs").segment(id)));
  if (!goes_on) post("/complete", Json::object());
  post("/freed", {{"nodes", {job.node}}});
}

}  // namespace railweave::slurm
