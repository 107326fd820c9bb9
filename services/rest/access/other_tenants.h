// Other tenants in what a member is answered. Reasons, histories and links that are full name the job that matters; a member
// reads kOtherJob there, without its name, tenant and rate. Reservations of others are kOtherReservation. Pure.
#pragma once

#include <string>
#include <string_view>

#include "services/control/state/cluster_state.h"

namespace railweave::api {

inline constexpr std::string_view kOtherJob = "job-000000";  // no job is called that
inline constexpr std::string_view kOtherReservation = "a reservation";

// Whether it is a job of this tenant that is still known.
bool is_job_of(const control::ClusterState& state, std::string_view tenant, std::string_view job);

// known: a text that the caller sent; what it names itself stays as it is.
void hide_others(const control::ClusterState& state, std::string_view tenant, std::string_view known,
                 std::string& text);

}  // namespace railweave::api
