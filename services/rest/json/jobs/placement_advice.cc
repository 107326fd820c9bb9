#include "services/rest/json/jobs/placement_advice.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "services/control/codec/prediction_json.h"
#include "services/json/contract_object.h"
#include "services/rest/json/jobs/job_spec.h"

namespace railweave::api {
namespace {

using scheduler::JobSpec;

constexpr std::size_t kMaxAdviceNodes = 100'000;

std::string nodes_text(const std::vector<std::string>& nodes) {
  std::string text;
  const std::size_t shown = std::min(nodes.size(), PlacementAdvice::kMaxNamedNodes);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + nodes[i];
  if (nodes.size() > shown) text += fmt::format(" and {} more", nodes.size() - shown);
  return text;
}

Out ms_or_null(const std::optional<double>& us) { return us ? ms_json(*us) : Out(nullptr); }

}  // namespace

Result<AdviceRequest> read_advice_request(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  AdviceRequest request;
  Json job;
  if (value->is_object() && value->contains("job")) job.swap((*value)["job"]);
  ObjectReader reader(*value, "");
  reader.require("job");
  (void)reader.take("job");
  reader.require("nodes");
  reader.read("nodes", request.nodes, kMaxAdviceNodes);
  if (value->is_object() && value->contains("nodes") && request.nodes.empty()) {
    reader.set_error("nodes", "names no node", "name the nodes that the job runs on");
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  auto read = job_request_from_json(std::move(job));
  if (read) {
    if (auto checked = check_what_if(*read); !checked) read = std::unexpected(checked.error());
  }
  if (!read) return std::unexpected(located_in_job(std::move(read.error())));
  request.job = std::move(read->spec);
  std::ranges::sort(request.nodes);
  const auto twice = std::ranges::unique(request.nodes);
  request.nodes.erase(twice.begin(), twice.end());
  return request;
}

Error located_in_job(Error error) {
  if (error.location.starts_with("/")) error.location.insert(0, "/job");
  return error;
}

JobSpec before_it_ran(const AdviceRequest& request) {
  JobSpec spec = request.job;
  std::erase_if(spec.exclude_nodes,
                [&](const std::string& node) { return std::ranges::binary_search(request.nodes, node); });
  if (!spec.only_nodes.empty()) {
    spec.only_nodes.insert(spec.only_nodes.end(), request.nodes.begin(), request.nodes.end());
    std::ranges::sort(spec.only_nodes);
    const auto twice = std::ranges::unique(spec.only_nodes);
    spec.only_nodes.erase(twice.begin(), twice.end());
  }
  return spec;
}

JobSpec where_it_runs(const AdviceRequest& request) {
  JobSpec spec = request.job;
  spec.exclude_nodes.clear();
  spec.only_nodes = request.nodes;
  return spec;
}

std::optional<std::uint32_t> PlacementAdvice::gain_permille() const {
  if (!placed) return std::nullopt;
  if (same_nodes) return 0;
  if (!us || !runs_at_us || *runs_at_us <= 0) return std::nullopt;
  if (*us >= kSame * *runs_at_us) return 0;
  return static_cast<std::uint32_t>(std::lround(1000 * (1 - *us / *runs_at_us)));
}

std::string PlacementAdvice::text() const {
  if (!placed) return "Railweave would let it wait: " + reason;
  if (same_nodes) return "Railweave would have chosen the same nodes";
  std::string where = "Railweave would have chosen " + nodes_text(nodes);
  const auto gain = gain_permille();
  if (!gain) return where;
  if (*gain == 0) return where + ", which is no faster";
  return fmt::format("{}: {:.3g} ms of communication predicted for a step instead of {:.3g}", where, *us / 1000,
                     *runs_at_us / 1000);
}

std::string write_advice(const PlacementAdvice& advice) {
  const auto gain = advice.gain_permille();
  return dump(object<"PlacementAdvice">(
      with<"advice">(advice.text()), with<"outcome">(advice.placed ? "placed" : "waits"),
      with<"code">(advice.placed ? Out(nullptr) : Out(advice.code)), with<"nodes">(advice.nodes),
      with<"sameNodes">(advice.placed && advice.same_nodes), with<"communicationMs">(ms_or_null(advice.us)),
      with<"runsAtMs">(ms_or_null(advice.runs_at_us)), with<"gainPermille">(gain ? Out(*gain) : Out(nullptr))));
}

}  // namespace railweave::api
