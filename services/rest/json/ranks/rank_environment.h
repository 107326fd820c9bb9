// The environment that a job's ranks run in: as a list to read, and as a script that a launcher runs the program under.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/control/state/job.h"
#include "services/rest/json/ranks/class_marks.h"
#include "services/rest/json/ranks/rank_nodes.h"

namespace railweave::api {

// A line per rank: rank, node, GPU, NAME=VALUE ...
std::string rank_environment_lines(const scheduler::RankMap& map, const std::vector<RankNode>& nodes,
                                   const control::Job& job, const RankMarks& marks);

// For a POSIX shell. It finds the rank in what torchrun, Open MPI, PMIx, PMI or Slurm set, and refuses to run without.
std::string rank_script(const std::vector<RankNode>& nodes, const control::Job& job, const RankMarks& marks);

}  // namespace railweave::api
