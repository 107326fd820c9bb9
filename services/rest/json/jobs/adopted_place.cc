#include "services/rest/json/jobs/adopted_place.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "scheduler/job/job_spec.h"

namespace railweave::api {
namespace {

using control::AdoptedPlace;
using scheduler::JobSpec;

// Local indices of GPUs; none: the field is not there.
std::optional<std::vector<std::uint32_t>> read_local_gpus(ObjectReader& reader) {
  const Json* list = reader.take("gpus");
  if (list == nullptr) return std::nullopt;
  std::vector<std::uint32_t> gpus;
  if (!list->is_array() || list->empty() || list->size() > JobSpec::kMaxGpusPerNode) {
    reader.set_error("gpus", fmt::format("a list of 1 to {} indices of GPUs is wanted", JobSpec::kMaxGpusPerNode));
    return gpus;
  }
  for (const auto& gpu : *list) {
    if (!gpu.is_number_unsigned() || gpu.get<std::uint64_t>() >= JobSpec::kMaxGpusPerNode) {
      reader.set_error("gpus", "holds what is no index of a GPU", "0 is the first GPU of a node");
      return gpus;
    }
    gpus.push_back(gpu.get<std::uint32_t>());
  }
  return gpus;
}

void read_runs(ObjectReader& reader, const Json& list, AdoptedPlace& place) {
  if (!list.is_array() || list.empty() || list.size() > JobSpec::kMaxRanks) {
    return reader.set_error("ranks", "a list of {node, gpus} in the order of ranks is wanted");
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    ObjectReader run(list[i], fmt::format("{}/{}", reader.pointer("ranks"), i));
    AdoptedPlace::Run one;
    run.require("node");
    run.read("node", one.node);
    run.require("gpus");
    one.gpus = read_local_gpus(run);
    if (auto done = run.finish(); !done) return reader.set_error(done.error());
    place.runs.push_back(std::move(one));
  }
}

}  // namespace

Result<AdoptedPlace> read_adopted_place(const Json& value, const std::string& pointer) {
  ObjectReader reader(value, pointer);
  AdoptedPlace place;
  const Json* ranks = reader.take("ranks");
  if (ranks != nullptr) {
    read_runs(reader, *ranks, place);
  } else {
    std::vector<std::string> nodes;
    reader.require("nodes");
    reader.read("nodes", nodes, JobSpec::kMaxRanks);
    const auto gpus = read_local_gpus(reader);
    if (nodes.empty()) reader.set_error("nodes", "names no node");
    for (auto& node : nodes) place.runs.push_back({std::move(node), gpus});
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return place;
}

}  // namespace railweave::api
