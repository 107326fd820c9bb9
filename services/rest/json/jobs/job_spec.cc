#include "services/rest/json/jobs/job_spec.h"

#include <optional>
#include <utility>

#include "fabric/base/text/time_text.h"
#include "fabric/base/text/utf8.h"
#include "scheduler/collective/traffic.h"
#include "scheduler/job/alternative_shapes.h"
#include "services/control/codec/job_spec_json.h"
#include "services/rest/json/jobs/adopted_place.h"
#include "services/rest/json/jobs/launch.h"

namespace railweave::api {

using scheduler::JobSpec;

namespace {

Result<JobSpec> checked_spec(const Json& value) {
  auto spec = job_spec_from_json(value, "");
  if (!spec) return spec;
  if (auto checked = scheduler::check_job_spec(*spec); !checked) return std::unexpected(checked.error());
  if (spec->model) {
    for (const JobSpec& shape : scheduler::specs_by_shape(*spec)) {
      if (auto checked = scheduler::check_model(*spec->model, shape.parallelism); !checked) {
        return std::unexpected(checked.error());
      }
    }
    // Its name is shown as the job's own is.
    if (spec->model->name.size() > JobSpec::kMaxNameBytes || !is_printable_utf8(spec->model->name)) {
      return fail(ErrorKind::invalid, "jobs.invalid", "must be printable UTF-8 of bounded length", "/model/name");
    }
  }
  return spec;
}

}  // namespace

Result<JobRequest> read_job_request(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  auto request = job_request_from_json(std::move(*value));
  if (!request) return request;
  if (auto checked = check_sends_to_no_role(request->spec); !checked) return std::unexpected(checked.error());
  return request;
}

Result<void> check_sends_to_no_role(const JobSpec& spec) {
  if (!spec.bandwidth || !spec.bandwidth->between_roles || spec.bandwidth->between_roles->value() == 0) return {};
  return fail(ErrorKind::invalid, "body.invalidField", "the job sends data to no other role",
              "/bandwidth/betweenRolesGbpsPerPort", "gang.traffic says what the roles of a gang send each other");
}

Result<JobRequest> job_request_from_json(Json value) {
  JobRequest request;
  if (value.is_object()) {
    Json own = Json::object();
    for (const auto* field : {"queue", "notBefore", "launcher", "adopt"}) {
      if (!value.contains(field)) continue;
      own[field] = std::move(value[field]);
      value.erase(field);
    }
    ObjectReader reader(own, "");
    reader.read("queue", request.queue);
    std::optional<std::string> not_before;
    reader.read_text("notBefore", not_before);
    if (not_before) {
      const auto time = parse_time_us(*not_before);
      if (!time)
        reader.set_error("notBefore", shown(*not_before) + " is no time", "like 2026-11-21T09:00:00Z (RFC 3339)");
      request.not_before_us = time.value_or(0);
    }
    if (not_before && !request.queue) {
      reader.set_error("notBefore", "only a job that queues can start later", "set \"queue\": true");
    }
    request.launch = read_launcher(reader);
    if (const Json* adopt = reader.take("adopt"); adopt != nullptr && !adopt->is_null()) {
      auto place = read_adopted_place(*adopt, reader.pointer("adopt"));
      if (!place) return std::unexpected(place.error());
      request.adopt = std::move(*place);
      if (request.queue) reader.set_error("adopt", "a job that runs does not queue", "leave out one of the two");
    }
    if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  }
  auto spec = checked_spec(value);
  if (!spec) return std::unexpected(spec.error());
  request.spec = std::move(*spec);
  if (!request.spec.peers.empty()) {
    return fail(ErrorKind::invalid, "body.unknownField", "'peers' is not a field of a request", "/peers",
                "say what roles exchange in the 'gang' of a batch");
  }
  return request;
}

Result<void> check_what_if(const JobRequest& request) {
  if (!request.adopt) return {};
  return fail(ErrorKind::invalid, "body.unknownField", "a what-if adopts nothing", "/adopt",
              "leave out 'adopt' to ask where the job would go");
}

Result<JobSpec> read_job_spec(std::string_view body) {
  auto request = read_job_request(body);
  if (!request) return std::unexpected(request.error());
  if (auto checked = check_what_if(*request); !checked) return std::unexpected(checked.error());
  return std::move(request->spec);
}

std::string write_job_spec(const JobSpec& spec) { return dump(to_json(spec)); }

}  // namespace railweave::api
