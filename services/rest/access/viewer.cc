#include "services/rest/access/viewer.h"

#include <utility>

namespace railweave::api {

bool is_job_of(const control::ClusterState& state, std::string_view tenant, const control::Job& job) {
  const auto known = state.tenants->find(tenant);
  return known != state.tenants->end() && job.spec.tenant == tenant && job.id.number() >= known->second.first_job;
}

bool is_job_of(const control::ClusterState& state, std::string_view tenant, std::string_view job) {
  const auto id = control::parse_job_id(job);
  const auto known = id ? state.jobs.find(*id) : nullptr;
  return known != nullptr && is_job_of(state, tenant, *known);
}

// Without authentication every caller is an administrator.
Viewer::Viewer(const Request& request)
    : Viewer(request.caller == nullptr ? control::Role::administrator : request.caller->role,
             request.caller == nullptr ? std::string() : request.caller->tenant) {}

Viewer::Viewer(control::Role role, std::string tenant)
    : sees_all_(role != control::Role::member && role != control::Role::agent) {
  if (role == control::Role::member) tenant_ = std::move(tenant);
}

MessageReader Viewer::reader(const control::ClusterState& state) const {
  if (sees_all_) return MessageReader::all();
  if (!tenant_) return {};
  const auto job = [&state, this](std::uint64_t number) {
    const auto known = state.jobs.find(control::JobId(number));
    return known != nullptr && is_job_of(state, *tenant_, *known);
  };
  const auto tenant = [this](std::string_view name) { return name == *tenant_; };
  // One that is over may have been of anyone.
  const auto reservation = [&state, this](std::string_view name) {
    const auto known = state.reservations->find(name);
    return known != state.reservations->end() &&
           (known->second.window.tenant.empty() || known->second.window.tenant == *tenant_);
  };
  return {job, tenant, reservation, false};
}

Error told(Error error, const MessageReader& reader) {
  if (!error.said.empty()) error.message = error.said.text(reader);
  return error;
}

}  // namespace railweave::api
