// A job trace: when jobs were submitted, by which tenant, their GPUs and their run times. job_trace.md describes the format
// and how a number of GPUs becomes a job with parallel groups.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "scheduler/job/job_spec.h"

namespace railweave::cli {

struct TraceJob {
  std::int64_t submitted_s = 0;  // since the first of the trace
  std::int64_t runs_s = 0;       // at least 1
  std::uint32_t gpus = 0;
  std::uint32_t tenant = 0;  // index of JobTrace::tenants
};

struct JobTrace {
  std::vector<TraceJob> jobs;  // by submission; those of one second in the order of the file
  std::vector<std::string> tenants;
};

inline constexpr std::size_t kMaxTraceJobs = 2'000'000;
inline constexpr std::size_t kMaxTraceTenants = 10'000;
inline constexpr std::size_t kMaxTraceFileBytes = std::size_t{256} << 20U;

// Philly's CSV. Errors: kind malformed, code "lab.unreadableTrace", with line and column name; tooLarge.
Result<JobTrace> read_philly_trace(std::string_view text, std::string_view source);

// Tensor groups of the largest power of two that divides the number of GPUs, at most a host's NVLink domain; the rest is
// data parallelism.
scheduler::JobSpec trace_job_spec(std::uint32_t gpus, std::uint32_t domain_gpus);

// A job that communicates much: data parallelism alone, with parameters sharded (FSDP), one micro-batch a step, and nothing
// hidden behind computation.
scheduler::JobSpec heavy_job_spec(std::uint32_t gpus);

// Makes a job of whole nodes ask that 16 of its nodes each share an NVLink domain, where it has a multiple of 16 nodes, else 4, else 1: as
// tensor groups, which never span domains.
void ask_for_segments(scheduler::JobSpec& spec, std::uint32_t gpus_per_node);

}  // namespace railweave::cli
