// Tenants "ours" and "theirs" with one job each, job-000001 and job-000002.
#pragma once

#include <memory>

#include "services/control/state/cluster_state.h"

namespace railweave::api {

inline control::ClusterState two_tenants() {
  control::ClusterState state;
  auto tenants = std::make_shared<control::TenantTable>();
  for (const char* tenant : {"ours", "theirs"}) {
    (*tenants)[tenant].name = tenant;
    control::Job job;
    job.id = state.jobs.next_id();
    job.spec.tenant = tenant;
    job.state = control::JobState::queued;
    state.restore(std::make_shared<const control::Job>(std::move(job)));
    state.jobs.set_next_id(control::JobId(state.jobs.next_id().number() + 1));
  }
  state.tenants = tenants;
  return state;
}

}  // namespace railweave::api
