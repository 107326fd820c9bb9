// What repairs and their launchers' answers change of the GPUs that jobs have left (Launch::left), for apply().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace railweave::control {

struct ClusterState;
struct Job;

// Ranks of it moved away from these, and its launcher has the usual time to end what runs there.
void leave(ClusterState& state, Job& job, const std::vector<std::string>& gpus, std::int64_t now_us);

// Nothing of it runs on these nodes any more. False: it had left none of their GPUs.
bool free_left(ClusterState& state, Job& job, const std::vector<std::string>& nodes);

// Nothing of it runs anywhere.
void drop_left(ClusterState& state, Job& job);

}  // namespace railweave::control
