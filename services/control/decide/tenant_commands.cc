#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "services/control/decide/commands.h"
#include "services/control/decide/refusal.h"
#include "services/control/decide/tenant_limit.h"

namespace railweave::control {
namespace {

// What still names the tenant: a reservation or a queued job. None: nothing.
std::optional<std::string> still_used(const ClusterState& state, const std::string& tenant) {
  for (const auto& [name, reservation] : *state.reservations) {
    if (reservation.window.tenant == tenant) return "reservation '" + name + "' is for tenant " + tenant;
  }
  for (const auto& [id, token] : *state.access_tokens) {
    if (token.tenant == tenant) return "token " + id + " of " + token.name + " is of tenant " + tenant;
  }
  std::optional<std::string> why;
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (job->state == JobState::queued && job->spec.tenant == tenant) {
      why = fmt::format("{} of tenant {} is queued", to_string(job->id), tenant);
    }
    return !why;
  });
  return why;
}

}  // namespace

DecisionResult decide_command(const DecisionInput& in, const PutTenant& command) {
  const ClusterState& state = in.state;
  const auto present = state.tenants->find(command.tenant.name);
  const std::uint64_t version = present == state.tenants->end() ? 0 : present->second.version;
  if (command.if_version && *command.if_version != version) {
    return refuse_version("the tenant", *command.if_version, version);
  }
  // One that the rules have dropped since may stay.
  const bool asked = version == 0 || present->second.max_priority != command.tenant.max_priority;
  if (auto unknown = unknown_priority(*state.queue_rules, command.tenant.max_priority); asked && unknown) {
    unknown->location = "/maxPriority";
    return std::unexpected(Rejection{std::move(*unknown), nullptr});
  }
  if (version != 0 && present->second.same_rules(command.tenant)) return Decision{};
  return Decision{{TenantPut{command.tenant}}, {}, false};
}

DecisionResult decide_command(const DecisionInput& in, const RemoveTenant& command) {
  const ClusterState& state = in.state;
  const auto present = state.tenants->find(command.name);
  if (present == state.tenants->end()) {
    return refuse(ErrorKind::notFound, "tenants.notFound", "there is no tenant '" + command.name + "'",
                  "GET /v1/tenants lists them");
  }
  if (command.if_version && *command.if_version != present->second.version) {
    return refuse_version("the tenant", *command.if_version, present->second.version);
  }
  if (const auto held = state.gpus_held->find(command.name); held != state.gpus_held->end()) {
    return refuse(ErrorKind::conflict, "tenants.holdsGpus",
                  fmt::format("tenant {} holds {} GPUs", command.name, held->second), "end its jobs first");
  }
  if (const auto why = still_used(state, command.name)) {
    return refuse(ErrorKind::conflict, "tenants.inUse", *why,
                  "remove the reservation, cancel the job or revoke the token first");
  }
  if (state.contracts->contains(command.name)) {
    return refuse(ErrorKind::conflict, "tenants.hasContract", "tenant " + command.name + " has a contract",
                  "remove it first: DELETE /v1/contracts/" + command.name);
  }
  std::vector<EventBody> events = remove_webhooks(state, command.name);
  events.emplace_back(TenantRemoved{command.name});
  return Decision{std::move(events), {}, false};
}

}  // namespace railweave::control
