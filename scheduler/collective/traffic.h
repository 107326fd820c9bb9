// Bytes that each rank of a training job sends per step in each of its groups, from the model alone.
//
// b micro-batch (sequences), s sequence length, h hidden size, B bytes of an activation, L layers of a stage = layers /
// PP, M micro-batches of a step = global batch / (b DP EP): data and expert ranks train on different tokens, context
// ranks on parts of a sequence. Per rank and step:
//   tensor       4 all-reduces of b (s/CP) h B per layer and micro-batch, two forward and two backward; two more where
//                activations are recomputed. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
//                Clusters Using Megatron-LM", SC 2021, section 3.2. Sequence parallelism moves as much (Korthikanti et
//                al., "Reducing Activation Recomputation in Large Transformer Models", MLSys 2023, section 4.2.2).
//   context      keys and values, 2 b s h (kv heads / heads) B / TP: all-gathered forward, gathered again and their
//                gradients reduce-scattered backward: 3 per layer and micro-batch, one more with recomputation. Llama
//                Team, "The Llama 3 Herd of Models", 2024, section 3.3.2; ring attention (Liu et al., 2023) moves as
//                much.
//   expert       4 all-to-all of b (s/CP) h top-k B / TP per expert layer and micro-batch: dispatch and combine,
//                forward and backward. Rajbhandari et al., "DeepSpeed-MoE", ICML 2022, section 5.
//   pipeline     b (s/CP) h B / TP to the next stage per micro-batch and model chunk, including the scatter/gather
//                optimization of Narayanan et al., section 4.1.
//   data         dense parameters / (TP PP) as gradients, all-reduced: as bytes of an all-reduce also where it is a
//                reduce-scatter of gradients and an all-gather of parameters (ZeRO-1 and 2) or, ZeRO-3, one all-gather
//                per pass and micro-batch and a reduce-scatter per step. Rajbhandari et al., "ZeRO", SC 2020,
//                section 7.
//   expert_data  expert parameters / (TP PP EP) in the same way, among ranks with the same experts.
// Through parameter servers (Li et al., OSDI 2014) every rank pushes its gradients, in parts to all servers, and pulls
// as much back. Gradients of several micro-batches are accumulated before they are exchanged: micro_batches() of them.
// Gradients are divided by gradient_compression, and exchanges of data and expert_data by synchronise_every (local SGD:
// Stich, ICLR 2019), as a mean over steps.
#pragma once

#include "fabric/base/error.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/job/model.h"

namespace railweave::scheduler {

// Errors of kind invalid, code "jobs.invalid": a size of the model is not given, layers that do not fill the stages, a
// global batch that is less than one micro-batch per rank, compression below 1.
Result<void> check_model(const ModelSpec& model, const Parallelism& parallelism);

double micro_batches(const ModelSpec& model, const Parallelism& parallelism);

// The default model, for comparing placements of jobs that name none: a transformer of a usual size for its GPUs. 2e9
// parameters per GPU of a model replica (TP x PP), half of them experts where EP > 1, hidden size 8,192, sequences of
// 4,096 per context rank, 16 micro-batches. An assumption; always passes check_model().
ModelSpec assumed_model(const Parallelism& parallelism);

// Of a checked model.
TrafficSpec traffic_of(const ModelSpec& model, const Parallelism& parallelism);

}  // namespace railweave::scheduler
