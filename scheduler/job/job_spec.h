// What a tenant asks for: how many GPUs, in which parallel groups, how near each other. Validated by check_job_spec().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/units.h"
#include "fabric/topology/locality.h"
#include "scheduler/job/model.h"
#include "scheduler/job/role_traffic.h"
#include "scheduler/job/toleration.h"

namespace railweave::scheduler {

// DP x PP x CP x EP x TP. Rank order is Megatron's default, tensor fastest, then context, expert, data, and pipeline
// slowest:
//   rank = tp + TP * (cp + CP * (ep + EP * (dp + DP * pp)))
// so that consecutive ranks communicate most, and one pipeline stage is one run of consecutive ranks.
//
// Megatron counts expert parallelism inside data parallelism: its experts are spread over data-parallel ranks and are no
// factor of the world size. With experts_over_data the job is counted so; `data` is then what is left of it, the number
// of data-parallel ranks divided by `expert`, and everything else is as in the product.
struct Parallelism {
  std::uint32_t tensor = 1;
  std::uint32_t context = 1;
  std::uint32_t expert = 1;
  std::uint32_t data = 1;
  std::uint32_t pipeline = 1;
  bool experts_over_data = false;
  // Data-parallel ranks as the job counts them.
  [[nodiscard]] std::uint64_t data_ranks() const { return std::uint64_t{data} * (experts_over_data ? expert : 1); }
  friend bool operator==(const Parallelism&, const Parallelism&) = default;
};

struct RankCoordinates {
  std::uint32_t tp = 0, cp = 0, ep = 0, dp = 0, pp = 0;
  friend bool operator==(const RankCoordinates&, const RankCoordinates&) = default;
};
RankCoordinates coordinates_of(const Parallelism& parallelism, std::uint64_t rank);
std::uint64_t rank_of(const Parallelism& parallelism, const RankCoordinates& at);
// 0 to data_ranks().
constexpr std::uint64_t data_rank(const Parallelism& parallelism, const RankCoordinates& at) {
  return parallelism.experts_over_data ? std::uint64_t{at.dp} * parallelism.expert + at.ep : at.dp;
}

// How near the members of a group must (required) or should (preferred) be.
struct LevelRequest {
  std::optional<fabric::LevelKind> required;
  std::optional<fabric::LevelKind> preferred;
  friend bool operator==(const LevelRequest&, const LevelRequest&) = default;
};

// Every `gpus` ranks that are consecutive in placement share one group of the level.
struct Slice {
  fabric::LevelKind level = fabric::LevelKind::node;
  std::uint64_t gpus = 1;
  friend bool operator==(const Slice&, const Slice&) = default;
};

enum class BandwidthModel : std::uint8_t { hose, pattern };

// The bandwidth that a job requests; a field without a value is as in its tenant's contract.
struct BandwidthTerms {
  std::optional<BandwidthModel> model;
  std::optional<RateMbps> guaranteed;  // in each direction, at each of its ports; 0: best effort
  std::optional<bool> survive_link_failure;
  std::string qos_class;
  // What each port of a role of its gang that it sends data to may receive from it, beside what that role has of its own; none:
  // what it sends to other roles is promised nothing.
  std::optional<RateMbps> between_roles;
  friend bool operator==(const BandwidthTerms&, const BandwidthTerms&) = default;
};

// At most max_gpus_per_group GPUs of the job in one group of the level, which bounds what the loss of a group costs:
// replicas and stages are spread over several groups.
struct SpreadLimit {
  fabric::LevelKind level = fabric::LevelKind::rack;
  std::uint64_t max_gpus_per_group = 0;
  friend bool operator==(const SpreadLimit&, const SpreadLimit&) = default;
};

// Members of a job that hold no GPU: drivers, data loaders, routers. They share nodes with its ranks, or are near them
// (scheduler/placement/fit/cpu_seats.h). Their CPUs are not counted: a fabric does not say how many a node has.
struct CpuRole {
  std::string name;
  std::uint32_t members = 1;
  std::uint32_t max_per_node = 0;  // of this role's members; 0: any number
  friend bool operator==(const CpuRole&, const CpuRole&) = default;
};

// Of the scheduler that a job came from: "slurm", "48213_7".
struct ExternalId {
  static constexpr std::size_t kMaxAdviceBytes = 1000;
  static constexpr std::uint32_t kMaxGainPermille = 1000;

  std::string scheduler, id;
  std::string part;    // of that scheduler, with a step of its own: a partition, a namespace; "": it does not say
  std::string step;    // what that scheduler lets Railweave decide: "observe", "order", "place"; "": it does not say
  std::string advice;  // where Railweave would have placed it, and what that would have gained; in words
  // Of the communication predicted for a step, what the place of the advice would have spared; none: it is not known.
  std::optional<std::uint32_t> gain_permille;
  friend bool operator==(const ExternalId&, const ExternalId&) = default;
};

// Nodes that a job would rather have, or rather avoid. With all of its ranks on nodes that are not as preferred, a place counts as
// if its communication took `weight` percent longer; with a part of them, that part of it.
struct NodePreference {
  static constexpr std::uint32_t kMaxWeight = 100;

  std::vector<std::string> nodes;                    // any of these; empty: all
  std::map<std::string, std::string> node_selector;  // and with all of these labels
  std::uint32_t weight = 0;                          // 1 to kMaxWeight
  bool avoid = false;                                // all other nodes are preferred
  friend bool operator==(const NodePreference&, const NodePreference&) = default;
};

struct JobSpec {
  static constexpr std::uint64_t kMaxRanks = 1U << 20U;
  static constexpr std::uint32_t kMaxGpusPerNode = 64;  // as fabric::TopologyBuilder::kMaxGpusPerHost
  static constexpr std::size_t kMaxNameBytes = 253;     // of every name here; as DNS and Kubernetes have it
  static constexpr std::size_t kMaxExcludeNodes = 4096;
  static constexpr std::size_t kMaxSelectors = 32;
  static constexpr std::size_t kMaxPreferences = 16;
  static constexpr std::size_t kMaxTolerations = 16;
  static constexpr std::size_t kMaxSlices = 6;
  static constexpr std::size_t kMaxShapes = 17;
  static constexpr std::uint32_t kMaxSparesPerDomain = 1024;
  static constexpr std::size_t kMaxCpuRoles = 16;
  static constexpr std::uint32_t kMaxCpuMembers = 4096;  // of one role
  static constexpr std::size_t kMaxPeers = 64;
  static constexpr std::int64_t kMaxDurationS = 10LL * 366 * 24 * 3600;

  std::string name;
  std::string tenant;
  std::string priority = "normal";
  Parallelism parallelism;
  // The shapes that it may run in, `parallelism` among them: it takes the one that is best of those that fit when it
  // starts, which `parallelism` then is (alternative_shapes.h). Empty: that one alone.
  std::vector<Parallelism> shapes;
  std::optional<std::uint32_t> gpus_per_node;  // exact number of GPUs on each node used; none: as many as fit

  // How near the ranks of one piece of the job are to be:
  //   tensor   that differ in tp alone; they always share an NVLink domain where TP > 1, whatever is asked here
  //   context  that differ in tp and cp; without a preference, an NVLink domain is preferred
  //   expert   that differ in tp and ep; without a preference, an NVLink domain is preferred
  //   stage    of one pipeline stage      job  all
  LevelRequest tensor, context, expert, stage, job;
  // May span sites that long-haul links join. Then whole replicas and pipeline stages, or parts of a stage's replicas,
  // are apart; tensor, context and expert groups never are. Without it a job stays in one site.
  bool across_sites = false;
  std::vector<Slice> slices;                       // sizes rise, each a multiple of the one before
  std::optional<fabric::LevelKind> spread_stages;  // each pipeline stage in a group of this level of its own
  std::optional<SpreadLimit> spread;               // the whole job over several groups of a level

  // Groups of this level that it has to itself: it is placed in groups without other jobs, and no job is placed beside
  // it.
  std::optional<fabric::LevelKind> exclusive;
  // Number of GPUs of each NVLink domain used that it holds beside its ranks, idle until a repair needs them. (The GPUs
  // of a node without NVLink count as one domain.)
  std::uint32_t spares_per_domain = 0;

  std::vector<CpuRole> cpu_roles;
  std::vector<RolePeer> peers;  // of the gang that it was submitted in

  std::optional<ModelSpec> model;      // what it computes: predicts the time of a step
  std::optional<TrafficSpec> traffic;  // what it sends, instead of what the model implies

  std::optional<BandwidthTerms> bandwidth;

  std::vector<std::string> only_nodes;  // the only nodes allowed; empty: all
  std::vector<std::string> exclude_nodes;
  std::map<std::string, std::string> node_selector;  // labels a node must carry
  std::vector<NodePreference> prefer_nodes;
  std::vector<Toleration> tolerations;  // of taints of nodes
  bool mixed_gpus = false;              // GPUs of several models may be mixed; else they are of one
  std::optional<std::int64_t> expected_duration_s;
  std::optional<std::int64_t> min_runtime_s;  // that it runs before it may be evicted; none: as the queue has it
  ExternalId external;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// Number of ranks, one GPU each; 0 where a factor is 0, or the product is over JobSpec::kMaxRanks.
std::uint64_t rank_count(const Parallelism& parallelism);

// A plain job of a number of GPUs ({"gpus": 64}): all of them data-parallel. Errors: 0, or over JobSpec::kMaxRanks.
Result<Parallelism> plain_parallelism(std::uint64_t gpus);

// Rules that hold on any fabric: factors of at least 1, at most kMaxRanks ranks, gpus_per_node that divides the job and
// is a multiple or a divisor of TP, names in printable UTF-8 and bounded, preferred levels no farther than required
// ones, slices that nest, traffic that is finite; all that for each of its shapes. check_model() (scheduler/collective)
// checks models.
// Errors are of kind invalid with code "jobs.invalid", location a JSON pointer into the request
// ("/parallelism/tensor").
Result<void> check_job_spec(const JobSpec& spec);

}  // namespace railweave::scheduler
