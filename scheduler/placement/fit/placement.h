// The answer to "where would this job go": where each rank sits, or why not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/base/message.h"
#include "fabric/topology/ids.h"
#include "fabric/topology/locality.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/prediction.h"

namespace railweave::scheduler {

enum class Outcome : std::uint8_t {
  placed,
  not_now,  // would fit with more free GPUs, or with drained hosts back
  never,    // no state of this fabric can meet it: it does not fit even when nothing runs
};
BOOST_DESCRIBE_ENUM(Outcome, placed, not_now, never)

// Where the members of a CPU-only role are: the name of a node for each. Names outlive an import of the fabric.
struct CpuSeats {
  std::string role;
  std::vector<std::string> nodes;
  friend bool operator==(const CpuSeats&, const CpuSeats&) = default;
};

struct Placement {
  std::vector<fabric::GpuId> gpu_of_rank;  // one per rank, in rank order
  // Held beside them, ascending: spares, and the other GPUs of groups that an exclusive job has to itself.
  std::vector<fabric::GpuId> idle_gpus;
  std::vector<CpuSeats> cpu_seats;                          // one per CPU-only role, in the order of the request
  fabric::LevelKind level = fabric::LevelKind::node;        // the nearest level one group of which holds the whole job
  fabric::LevelKind stage_level = fabric::LevelKind::node;  // ... each pipeline stage: the farthest of them
  std::uint32_t block_gpus = 1;  // the piece kept inside one NVLink domain: TP, times CP and EP where they fit
  std::uint32_t nodes_used = 0;
  std::uint32_t domains_used = 0;     // NVLink domains (a GPU without NVLink counts as one of its own host)
  std::uint32_t groups_at_level = 0;  // groups used at the level below `level`: racks, leaf groups...
  // For every data-parallel group that spans nodes there is a rail on which each of its nodes has a member, so its ring
  // can cross nodes on that rail alone. False where the fabric has no rails; true where no group spans nodes.
  bool data_rings_on_rails = false;
  std::optional<Prediction> predicted;  // where the placer scores; as of the decision, alone
  std::optional<Prediction> beside;     // what it was chosen by: beside the traffic of others, on bundles of links
  bool nics_assumed = false;  // some host used has no known GPU-to-adapter affinity; rails are then a guess too

  // Everything that is taken when the job starts and released when it ends: of its ranks, then the idle ones.
  [[nodiscard]] std::vector<fabric::GpuId> held_gpus() const {
    std::vector<fabric::GpuId> gpus(gpu_of_rank);
    gpus.insert(gpus.end(), idle_gpus.begin(), idle_gpus.end());
    return gpus;
  }
};

// How much fits at one level, for "why not": blocks are the smallest pieces that must stay whole (tensor groups).
struct LevelFit {
  fabric::LevelKind level = fabric::LevelKind::node;
  std::uint64_t groups = 0;             // in the fabric
  std::uint64_t groups_fit = 0;         // that could hold the whole job now
  std::uint64_t best_blocks = 0;        // blocks the best single group holds now
  std::uint64_t best_blocks_empty = 0;  // ... if no job ran
};

struct Exclusion {
  std::string reason;  // "drained", "excludedByJob", "labelsDiffer", "noGpus", "noNvlinkDomain", "tainted"
  std::uint64_t nodes = 0;
  std::vector<std::string> examples;  // up to 5 names
  std::string taint;                  // "dedicated=research", where the reason is "tainted": an entry for each
};

struct Counterfactual {
  std::string change;  // "pipeline 4 -> 3"
  Outcome outcome = Outcome::never;
  std::shared_ptr<const JobSpec> request = nullptr;  // the job with that change; null: the fabric would change
  std::vector<fabric::HostId> returned = {};         // then these nodes would be back
  bool links_return = false;                         // ... and links of theirs
};

struct Explanation {
  std::string
      code;  // "jobs.noCapacityAtLevel", "jobs.neverFits", "jobs.unknownLevel", "jobs.unreachable", "jobs.unknownLabel", "jobs.noCpuNodes", "jobs.invalid"
  std::string message;                                // for people
  Message more = {};                                  // what others have to do with it, after the message
  fabric::LevelKind level = fabric::LevelKind::node;  // where it failed
  std::uint64_t blocks_needed = 0;
  std::uint64_t blocks_fit = 0;
  std::uint64_t block_gpus = 0;
  std::uint64_t free_gpus = 0;
  std::uint64_t total_gpus = 0;
  std::uint64_t stranded_gpus = 0;  // free, but in pieces smaller than a block
  std::vector<LevelFit> levels;
  std::vector<Exclusion> excluded;
  std::vector<Counterfactual> counterfactuals;

  [[nodiscard]] Message whole() const {
    Message said(message);
    said += more;
    return said;
  }
};

// What would become of a job in one of its shapes.
struct ShapeAnswer {
  Parallelism parallelism;
  Outcome outcome = Outcome::never;
  bool taken = false;  // the shape that the answer is about
  // Where it is placed, and something is predicted.
  std::optional<double> step_us, communication_us, unit_of_work_us;
  std::string code;  // of a refusal
  Message reason;
};

struct PlacementResult {
  Outcome outcome = Outcome::never;
  Placement placement;                    // when placed
  Explanation explanation;                // otherwise
  std::optional<RoutedChoice> routed;     // when placed; none: chosen on bundles of links
  std::vector<Alternative> alternatives;  // if requested
  std::vector<ShapeAnswer> shapes;        // of a job with several, in the order of the request
  std::vector<std::string> warnings;      // "excluded node 'dgx-9' is not in the fabric"
};

}  // namespace railweave::scheduler
