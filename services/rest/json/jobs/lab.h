// POST /v1/lab: a fabric to plan with, jobs to place on it, and what is to fail. Nothing of it is the live one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "services/rest/json/fabric/routes.h"
#include "services/rest/json/jobs/job_batch.h"

namespace railweave::api {

struct LabRequest {
  struct Generated {
    std::string kind;
    std::map<std::string, std::string> parameters;
  };
  struct File {
    std::string text;
    std::string format = "auto";
    unsigned gpus_per_node = 0, nvlink_domain_gpus = 0;
  };
  // Neither: the present fabric, with its jobs.
  std::optional<Generated> generated;
  std::optional<File> file;
  std::vector<BatchItem> jobs;
  std::optional<RouteChange> change;

  static constexpr std::size_t kMaxJobs = 100;
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 20U;
};
Result<LabRequest> read_lab_request(std::string_view body);

// Answers of the parts, each JSON already; "" for null.
struct LabAnswer {
  std::string fabric, map, routes, routes_problem, placements;
  struct After {
    std::string map, routes, placements;
  };
  std::optional<After> after;
};
std::string write_lab(const LabAnswer& answer);

}  // namespace railweave::api
