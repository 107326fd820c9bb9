// What a training job computes and sends, as far as its tenant says: enough to predict the time of a step. Shapes only;
// scheduler/collective turns a ModelSpec into bytes per group and both into times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/topology/ids.h"
#include "scheduler/job/role_traffic.h"

namespace railweave::scheduler {

enum class Precision : std::uint8_t { fp32, bf16, fp8 };
constexpr double bytes_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return 4;
    case Precision::bf16:
      return 2;
    case Precision::fp8:
      return 1;
  }
  return 2;
}

// How optimizer state, gradients and parameters are spread over data-parallel ranks (Rajbhandari et al., ZeRO, SC
// 2020).
enum class Sharding : std::uint8_t {
  none,        // every rank has all: gradients are all-reduced
  optimizer,   // ZeRO-1 and 2: gradients are reduce-scattered, parameters all-gathered once a step
  parameters,  // ZeRO-3, FSDP: parameters are gathered before every forward and every backward pass
};

// How data-parallel ranks bring their gradients together.
enum class GradientExchange : std::uint8_t {
  rings,              // all-reduce among themselves; NVLink switches reduce where they can
  parameter_servers,  // some ranks are servers: all ranks push their gradients to them, then pull the parameters
  in_network,         // the switches of the network reduce as well (SHARP): adapters carry gradients once, not twice
};

struct MixtureOfExperts {
  std::uint32_t experts = 8;            // of a layer
  std::uint32_t experts_per_token = 2;  // top-k
  double expert_parameters = 0;         // of all experts of all layers; the rest is dense
  std::uint32_t every = 1;              // every n-th layer has experts
  friend bool operator==(const MixtureOfExperts&, const MixtureOfExperts&) = default;
};

// A decoder-only transformer.
struct ModelSpec {
  std::string name;
  double parameters = 0;  // in all, experts included
  std::uint32_t layers = 0;
  std::uint32_t hidden_size = 0;
  std::uint32_t sequence_length = 0;
  std::uint32_t micro_batch = 1;                   // sequences
  std::uint32_t global_batch = 1;                  // sequences per step, over all data-parallel ranks
  double kv_fraction = 1;                          // key and value heads by query heads (grouped-query attention)
  Precision precision = Precision::bf16;           // of parameters and activations
  Precision gradient_precision = Precision::fp32;  // as reduced
  std::optional<MixtureOfExperts> experts;

  Sharding sharding = Sharding::none;
  std::uint32_t virtual_stages = 1;     // model chunks of a pipeline stage (interleaved schedule)
  bool recompute = false;               // activations are computed again in the backward pass
  double gradient_compression = 1;      // bytes of gradients are divided by it; at least 1
  std::uint32_t synchronise_every = 1;  // steps between gradient (local SGD: parameter) exchanges
  GradientExchange exchange = GradientExchange::rings;
  std::uint32_t parameter_servers =
      1;  // number of ranks of each data-parallel group that serve: its first ones, which compute too
  // Of each group's communication, how much hides behind computation, 0 to 1.
  double overlap_tensor = 0, overlap_context = 0.9, overlap_expert = 0, overlap_data = 0.8, overlap_pipeline = 0.5;
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

// What one rank sends per step in each of its groups: the size of the buffers it hands to its collectives, as
// nccl-tests counts size (all-reduce: the whole vector; reduce-scatter and all-gather: the whole vector that is
// scattered or gathered; all-to-all: all it sends, to itself included; point to point: the message), summed over the
// step's calls.
struct GroupTraffic {
  static constexpr std::uint32_t kMaxServers = 128;
  double bytes = 0;
  double calls = 0;
  GradientExchange exchange = GradientExchange::rings;  // of data and expert_data
  std::uint32_t servers = 1;                            // of parameter_servers; in groups that are smaller, all serve
  friend bool operator==(const GroupTraffic&, const GroupTraffic&) = default;
};
// Another job with whose ranks a job's ranks exchange data, where it runs.
struct PlacedPeer {
  RolePeer peer;
  std::vector<fabric::GpuId> gpu_of_rank;
  friend bool operator==(const PlacedPeer&, const PlacedPeer&) = default;
};
struct TrafficSpec {
  GroupTraffic
      tensor;  // all-reduce (or reduce-scatter and all-gather, which move as much) among ranks that differ in tp
  GroupTraffic context;      // all-gather and reduce-scatter of keys and values among those that differ in cp
  GroupTraffic expert;       // all-to-all among those that differ in ep
  GroupTraffic data;         // all-reduce of dense gradients among those that differ in cp, ep and dp
  GroupTraffic expert_data;  // all-reduce of experts' gradients among those that differ in cp and dp
  GroupTraffic pipeline;     // point to point to the next stage, and as much back
  // With ranks of other jobs: what `peers` say, in all. No part of a request: filled in where it is known which GPUs those
  // ranks have (scheduler/placement/score/job_traffic.h).
  GroupTraffic roles;
  std::vector<PlacedPeer> peers;
  friend bool operator==(const TrafficSpec&, const TrafficSpec&) = default;
};

}  // namespace railweave::scheduler
