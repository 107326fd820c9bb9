// What the tasks of a placed job need, as text in Slurm's AdminComment: the nodes in the order of their first ranks, which
// rank is on which node, and variables of libraries. railweave-slurm writes it; the SPANK plugin reads it where the job runs, so
// that no node needs a login to Railweave or a file system that all share.
//
//   railweave: job-000004 on node-[09-10]; order=0-1x8 NCCL_IB_SL=1 @0-1 gpus=0-7 NCCL_IB_HCA==mlx5_0:1,mlx5_1:1
//
// order: runs of ranks on a node, by the node's place in the list: "0-1x8" is 8 ranks on each of the first two. "@0-1" begins
// what only those nodes have; gpus are in the order of local ranks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"

namespace railweave::slurm {

struct NodeSettings {
  std::vector<unsigned> gpus;               // of local rank 0, 1, ...
  std::map<std::string, std::string> only;  // variables that not all nodes have alike
  bool operator==(const NodeSettings&) const = default;
};

struct JobRanks {
  std::string placement;                      // "job-000004"
  std::vector<std::string> nodes;             // in the order of their first ranks
  std::vector<std::uint32_t> node_of;         // of each rank, as its place in `nodes`; empty: not known
  std::map<std::string, std::string> common;  // variables of all ranks
  std::vector<NodeSettings> settings;         // of each node; empty: not known
  bool operator==(const JobRanks&) const = default;
};

// From the text that `GET /v1/jobs/{id}/ranks?format=nccl` answers: "0 node-09 0 NCCL_IB_HCA==mlx5_0:1 NCCL_IB_SL=1".
Result<JobRanks> read_rank_lines(std::string placement, std::string_view text);

// What is after "railweave: ". A text that would be longer than `most` names the nodes only. remark: for people; "" for none.
std::string write_job_ranks(const JobRanks& ranks, std::string_view remark, std::size_t most);
// Errors: a comment that names no placement, or one that was changed by others.
Result<JobRanks> read_job_ranks(std::string_view admin_comment);

}  // namespace railweave::slurm
