// Nodes out of use, in both directions: what Railweave drains or cannot reach is drained in Slurm, what is down or drained in Slurm is
// drained in Railweave. What one side has for its own reason is told apart by the words it begins with, so nothing comes back
// as an echo, and what a person drained, resumed or gave another reason is not touched.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "services/railweave/connection/service.h"
#include "services/slurm/slurm_cluster.h"

namespace railweave::slurm {

inline constexpr std::string_view kFromRailweave = "railweave: ";  // begins reasons in Slurm
inline constexpr std::string_view kFromSlurm = "slurm: ";          // begins reasons in Railweave

struct NodeLook {
  std::string slurm_state, slurm_reason;  // "" where Slurm does not know it
  bool known = false;                     // to Railweave
  bool link_down = false;
  bool cut_off = false;
  bool drained = false;
  std::string drain_reason;
};

struct NodePatience {
  std::int64_t trouble_s = 10;  // that trouble lasts before it is passed on
  std::int64_t calm_s = 300;    // that a node is well before it is taken back into use
  std::size_t most = 100;       // changes of a look
};

struct NodeChange {
  enum class Kind : std::uint8_t { drain_in_slurm, resume_in_slurm, drain_in_railweave, undrain_in_railweave };
  Kind kind;
  std::string node, reason;
  bool operator==(const NodeChange&) const = default;
};

// What follows from one look after the other; remembers only how long something has lasted.
class NodePlan {
 public:
  explicit NodePlan(NodePatience patience) : patience_(patience) {}
  std::vector<NodeChange> next(const std::map<std::string, NodeLook>& nodes, std::int64_t now_s);

 private:
  struct Memory {
    std::int64_t since_s = 0;  // of `trouble`, or of calm
    std::string trouble;       // that one side has and the other is to know of; "": calm
    bool passed_on = false;    // told already: what a person does then is left
    std::int64_t seen_s = -1;
  };
  const NodePatience patience_;
  std::map<std::string, Memory> memory_;
};

class NodeSync {
 public:
  using Say = std::function<void(const std::string&)>;
  NodeSync(SlurmCluster& slurm, cli::Service& service, NodePatience patience, Say say)
      : slurm_(slurm), service_(service), plan_(patience), say_(std::move(say)) {}

  // Throws cli::CommandFailure when Railweave or Slurm does not answer.
  void look(std::int64_t now_s);

 private:
  std::map<std::string, NodeLook> read();
  void apply(const NodeChange& change);

  SlurmCluster& slurm_;
  cli::Service& service_;
  NodePlan plan_;
  const Say say_;
};

}  // namespace railweave::slurm
