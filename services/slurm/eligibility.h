// Which nodes Slurm would let a job have: by its partitions, features, memory and processors, by what other jobs use of the
// nodes, and by reservations of others. What cannot be told by nodes alone is left to Slurm. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/slurm/slurm_job.h"

namespace railweave::slurm {

struct SlurmNode {
  std::string name;
  std::vector<std::string> partitions, features;  // features: active ones
  unsigned idle_cpus = 0, cpus = 0;
  std::uint64_t memory_mb = 0, allocated_mb = 0;
  std::uint64_t gpus = 0, gpus_used = 0;
  std::map<std::string, std::uint64_t, std::less<>> gpus_by_type;  // of types that have a name
  bool unavailable = false;                                        // down, drained, rebooting: no job can begin on it
  bool full = false;                                               // all of its processors are in use
};

// What `sinfo -a -h -N -O sinfo_format()` prints: a line for each node and partition. By name, each node once.
std::string sinfo_format();
std::vector<SlurmNode> read_sinfo(std::string_view text);

// A reservation of Slurm: no job of others may run on its nodes meanwhile.
struct SlurmWindow {
  std::string name;
  std::vector<std::string> nodes;
  std::int64_t from_s = 0, to_s = 0;
};
// What `scontrol -o show reservation` prints with SLURM_TIME_FORMAT=%s.
std::vector<SlurmWindow> read_reservations(std::string_view text);

struct SlurmPartition {
  std::string name;
  unsigned tier = 1;               // PriorityTier
  bool one_user_per_node = false;  // ExclusiveUser
  bool is_up = true;
  unsigned least_nodes = 0, most_nodes = 0;  // of a job; 0: any
  std::int64_t most_time_s = 0;              // of a job; 0: any
  std::uint64_t most_memory_mb = 0;          // of a job on a node; 0: any
};
// What `scontrol -o show partition` prints.
std::vector<SlurmPartition> read_partitions(std::string_view text);

class Eligibility {
 public:
  Eligibility() = default;
  // fabric: GPUs of Railweave's nodes; those that Slurm does not have are for no job. counts_memory: Slurm gives jobs memory,
  // all of a node where they do not say how much.
  Eligibility(std::vector<SlurmNode> nodes, std::vector<SlurmWindow> windows, std::vector<SlurmPartition> partitions,
              const std::map<std::string, std::uint64_t>& fabric, bool counts_memory);

  // Why nodes alone do not say where it may run; none: they do.
  [[nodiscard]] std::optional<std::string> left_to_slurm(const SlurmJob& job) const;
  // Those that it may not have now, sorted. Of several partitions Slurm runs a job in one: that of the highest tier in which as many
  // nodes are free as it needs, else the one with the most.
  [[nodiscard]] std::vector<std::string> excluded(const SlurmJob& job, std::int64_t now_s) const;
  // How many of these nodes have as many GPUs free as it asks for on each; how many GPUs are free on them together.
  [[nodiscard]] std::size_t nodes_free(const SlurmJob& job, const std::vector<std::string>& allowed) const;
  [[nodiscard]] std::uint64_t gpus_free(const std::vector<std::string>& allowed) const;
  // The highest PriorityTier of its partitions.
  [[nodiscard]] unsigned tier(const SlurmJob& job) const;
  [[nodiscard]] const std::vector<SlurmNode>& nodes() const { return nodes_; }

 private:
  [[nodiscard]] std::vector<std::string> excluded_in(std::string_view partition, const SlurmJob& job,
                                                     std::int64_t now_s) const;
  [[nodiscard]] std::string partition_for(const SlurmJob& job, std::int64_t now_s) const;
  [[nodiscard]] bool has_gpus(const SlurmNode& node, std::string_view type, std::uint64_t wanted) const;

  std::vector<SlurmNode> nodes_;  // by name
  std::vector<SlurmWindow> windows_;
  std::map<std::string, SlurmPartition, std::less<>> partitions_;
  bool counts_memory_ = false;
  bool declares_gpus_ = false;  // as GRES, on any node
  std::map<std::string, std::uint64_t> fabric_;
  std::vector<std::string> unknown_;  // nodes of the fabric that Slurm does not have
};

}  // namespace railweave::slurm
