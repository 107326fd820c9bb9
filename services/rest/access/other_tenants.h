// Jobs of other tenants in what a member is answered. Reasons, histories and links that are full name the job that matters;
// a member reads kOtherJob there. Pure.
#pragma once

#include <string>
#include <string_view>

#include "services/control/state/cluster_state.h"

namespace railweave::api {

inline constexpr std::string_view kOtherJob = "job-000000";  // no job is called that

// known: a text that the caller sent; what it names itself stays as it is.
void hide_other_jobs(const control::ClusterState& state, std::string_view tenant, std::string_view known,
                     std::string& text);

}  // namespace railweave::api
