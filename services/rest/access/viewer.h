// Who is told something, and what of messages it may see. A member sees its tenant, the jobs of it that are still known and
// reservations for all; viewers, operators and administrators see all; agents of nodes see no tenant's. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/base/message.h"
#include "services/control/state/cluster_state.h"
#include "services/rest/access/caller.h"

namespace railweave::api {

// Whether it is a job of this tenant that is still known. Jobs of an earlier tenant of that name are not.
bool is_job_of(const control::ClusterState& state, std::string_view tenant, const control::Job& job);
bool is_job_of(const control::ClusterState& state, std::string_view tenant, std::string_view job);

inline bool may_see_job(const control::ClusterState& state, const Request& request, const control::Job& job) {
  const std::string* own = own_tenant(request);
  return own == nullptr || is_job_of(state, *own, job);
}

class Viewer {
 public:
  explicit Viewer(const Request& request);
  Viewer(control::Role role, std::string tenant);

  // The tenant that it is held to; null: none.
  [[nodiscard]] const std::string* tenant() const { return tenant_ ? &*tenant_ : nullptr; }
  // Borrows both.
  [[nodiscard]] MessageReader reader(const control::ClusterState& state) const;

 private:
  bool sees_all_ = false;
  std::optional<std::string> tenant_;
};

// With the message that the reader may read.
Error told(Error error, const MessageReader& reader);

}  // namespace railweave::api
