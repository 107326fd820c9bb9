// What events about moves of running jobs change, for apply().
#pragma once

namespace railweave::control {

struct ClusterState;
struct Event;
struct Job;
struct MoveAccepted;
struct MoveEnded;
struct MoveOffered;

void apply_change(ClusterState& state, const MoveOffered& body, const Event& event);
void apply_change(ClusterState& state, const MoveAccepted& body, const Event& event);
void apply_change(ClusterState& state, const MoveEnded& body, const Event& event);

// Its move is over, if it has one: the place is free again.
void drop_move(ClusterState& state, Job& job);

}  // namespace railweave::control
