// Which model of GPUs each leaf has, by the label "gpu" of its host, else by the rate of its NVLink; hosts that say
// neither are taken for the commonest model. A job runs on GPUs of one model unless it says otherwise: collectives wait
// for the slowest. Immutable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/topology/topology.h"
#include "scheduler/collective/calibration.h"
#include "scheduler/placement/fit/hierarchy.h"

namespace railweave::scheduler {

class GpuModels {
 public:
  GpuModels(const fabric::Topology& topology, const Hierarchy& hierarchy);

  // Slower ones first.
  [[nodiscard]] unsigned count() const { return static_cast<unsigned>(models_.size()); }
  [[nodiscard]] std::string_view name(unsigned model) const { return models_[model].name; }  // "H100"; "": not known
  [[nodiscard]] const GpuGeneration* generation(unsigned model) const { return models_[model].generation; }
  [[nodiscard]] unsigned of(LeafIndex leaf) const { return of_leaf_[leaf]; }

 private:
  struct Model {
    std::string name;
    const GpuGeneration* generation;  // null: its constants are not known
  };
  std::vector<Model> models_;
  std::vector<std::uint16_t> of_leaf_;
};

}  // namespace railweave::scheduler
