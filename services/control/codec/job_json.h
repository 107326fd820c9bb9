// Job <-> JSON values as the journal keeps them.
#pragma once

#include <memory>

#include "fabric/topology/topology.h"
#include "services/control/state/job.h"
#include "services/json/json_out.h"
#include "services/json/record.h"
#include "services/json/strict_json.h"

namespace railweave::api {

// [["node-1", [0, 1, 2]], ...] in rank order.
Out ranks_to_json(const fabric::Topology& topology, const std::vector<fabric::GpuId>& gpu_of_rank);
Result<std::vector<fabric::GpuId>> ranks_from_json(const fabric::Topology& topology, const Json& value);

Out job_to_json(const control::Job& job, const fabric::Topology& topology);
Result<std::shared_ptr<control::Job>> job_from_json(const Json& value, const fabric::Topology& topology);

std::optional<fabric::LevelKind> level_named(std::string_view name);

// Nodes of CPU-only roles: [{"name": "driver", "nodes": ["node-1"]}].
inline constexpr std::tuple kCpuSeatsFields{field("name", &scheduler::CpuSeats::role),
                                            field("nodes", &scheduler::CpuSeats::nodes, Strings{})};
inline constexpr auto kCpuSeats = list_of<scheduler::CpuSeats>(kCpuSeatsFields);

// GPUs in rank order, by node. A form of record.h.
struct GpusByNode {
  const fabric::Topology& topology;

  void read(ObjectReader& reader, std::string_view name, std::vector<fabric::GpuId>& into) const {
    const Json* value = reader.take(name);
    if (value == nullptr) return;
    auto gpus = ranks_from_json(topology, *value);
    if (!gpus) return reader.set_error(std::move(gpus.error()));
    into = std::move(*gpus);
  }
  [[nodiscard]] Out write(const std::vector<fabric::GpuId>& gpus) const { return ranks_to_json(topology, gpus); }
};

}  // namespace railweave::api
