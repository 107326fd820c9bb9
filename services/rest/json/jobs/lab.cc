#include "services/rest/json/jobs/lab.h"

#include <utility>

#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {
namespace {

constexpr std::size_t kMaxParameters = 100;

LabRequest::Generated read_generated(ObjectReader& fabric, const Json& value) {
  LabRequest::Generated generated;
  ObjectReader reader(value, fabric.pointer("generate"));
  reader.require("kind");
  reader.read("kind", generated.kind);
  reader.read("parameters", generated.parameters, kMaxParameters);
  if (auto done = reader.finish(); !done) fabric.set_error(std::move(done.error()));
  return generated;
}

LabRequest::File read_lab_file(ObjectReader& fabric, const Json& value) {
  LabRequest::File file;
  ObjectReader reader(value, fabric.pointer("file"));
  reader.require("text");
  reader.read("text", file.text);
  reader.read("format", file.format);
  reader.read("gpusPerNode", file.gpus_per_node);
  reader.read("nvlinkDomain", file.nvlink_domain_gpus);
  if (auto done = reader.finish(); !done) fabric.set_error(std::move(done.error()));
  return file;
}

Result<void> read_lab_fabric(const Json& value, LabRequest& request) {
  ObjectReader reader(value, "/fabric");
  if (const Json* generate = reader.take("generate")) request.generated = read_generated(reader, *generate);
  if (const Json* file = reader.take("file")) request.file = read_lab_file(reader, *file);
  if (request.generated && request.file)
    reader.set_error("file", "a fabric is generated or read from a file, not both");
  return reader.finish();
}

std::string json_or_null(const std::string& json) { return json.empty() ? "null" : json; }

}  // namespace

Result<LabRequest> read_lab_request(std::string_view body) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  LabRequest request;
  ObjectReader reader(*value, "");
  const Json* fabric = reader.take("fabric");
  const Json* jobs = reader.take("jobs");
  const Json* change = reader.take("change");
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  if (fabric != nullptr) {
    if (auto read = read_lab_fabric(*fabric, request); !read) return std::unexpected(read.error());
  }
  if (jobs != nullptr) {
    auto items = read_batch_items(*jobs, "/jobs", LabRequest::kMaxJobs, false);
    if (!items) return std::unexpected(items.error());
    request.jobs = std::move(*items);
  }
  if (change != nullptr) {
    auto read = read_route_change(*change, "/change");
    if (!read) return std::unexpected(read.error());
    request.change = std::move(*read);
  }
  return request;
}

std::string write_lab(const LabAnswer& answer) {
  std::string text = R"({"fabric":)" + answer.fabric + R"(,"map":)" + answer.map + R"(,"routes":)" +
                     json_or_null(answer.routes) + R"(,"routesProblem":)" +
                     (answer.routes_problem.empty() ? "null" : dump(Out(answer.routes_problem))) + R"(,"placements":)" +
                     answer.placements + R"(,"after":)";
  if (!answer.after) return text + "null}";
  return text + R"({"map":)" + answer.after->map + R"(,"routes":)" + json_or_null(answer.after->routes) +
         R"(,"placements":)" + answer.after->placements + "}}";
}

}  // namespace railweave::api
