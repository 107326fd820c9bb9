// Which jobs agents on the nodes hold to their guarantees inside their class, where contracts ask for that.
#pragma once

#include <mutex>

#include "services/control/agents/class_grade.h"
#include "services/rest/control_plane.h"
#include "services/rest/handlers/agent_clock.h"

namespace railweave::api {

// Locks the agents while it lives; the book is at the state and locked by the caller.
class AgentGrades {
 public:
  AgentGrades(const ControlPlane& plane, const control::ClusterState& state, const control::GuaranteeBook& book)
      : lock_(plane.agents->mutex), grades_(state, book, *plane.agents, agent_clock_ms()) {
    plane.agents->versions.bring_to(state);
  }
  control::ClassGrade of(const control::Job& job) {
    if (job.guarantee->isolation != scheduler::Isolation::within_class) return {};
    return grades_.of(job);
  }

 private:
  std::unique_lock<std::mutex> lock_;
  control::ClassGrades grades_;
};

}  // namespace railweave::api
