// Events of jobs that their users change while they wait or run, and what they make of the state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/message.h"
#include "services/control/state/job_id.h"

namespace railweave::control {

struct ClusterState;

// What is given is as it is from this event on.
struct JobChanged {
  JobId id;
  std::string priority;
  std::int64_t not_before_us = 0;
  std::optional<std::int64_t> expected_duration_s, min_runtime_s;
  std::vector<std::string> exclude_nodes;
  Message text;  // what changed: "priority high, excludes 2 nodes"
};
// The waiting jobs of its tenant and priority exchange places, so that it is next to `beside`.
struct JobReordered {
  JobId id, beside;
  bool before = true;  // else after
  std::string reason;
};
struct JobHeld {
  JobId id;
  bool held = true;  // else released
  bool by_operator = false;
  std::string reason;
};

struct Event;
void apply_change(ClusterState& state, const JobChanged& body, const Event& event);
void apply_change(ClusterState& state, const JobReordered& body, const Event& event);
void apply_change(ClusterState& state, const JobHeld& body, const Event& event);

// For the histories of their jobs.
Message text(const JobReordered& change);
Message text(const JobHeld& change);

}  // namespace railweave::control
