#include "services/railweave/commands/jobs/job_request.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "services/railweave/command_line/number_option.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_document.h"
#include "services/railweave/terminal/input_file.h"

namespace railweave::cli {
namespace {

constexpr const char* kPlacementGroup = "Placement";
constexpr const char* kGroups = "tensor, context, expert, pipeline (the ranks of a stage) or job";

// The contract's name of a group, which may be given by its usual abbreviation.
std::string group_name(const std::string& text) {
  for (const auto& [name, abbreviation] :
       {std::pair("tensor", "tp"), std::pair("context", "cp"), std::pair("expert", "ep"), std::pair("pipeline", "pp"),
        std::pair("pipeline", "stage"), std::pair("job", "job")}) {
    if (text == name || text == abbreviation) return name;
  }
  fail_usage("there is no group of ranks '" + text + "'", std::string("the groups are ") + kGroups);
}

std::pair<std::string, std::string> split(const std::string& text, const char* option, const char* form) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    fail_usage(fmt::format("{} takes {}, not '{}'", option, form, text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void put_levels(Json& body, const std::vector<std::string>& requests, const char* option, const char* member) {
  for (const auto& request : requests) {
    const auto [group, level] = split(request, option, "GROUP=LEVEL");
    body["topology"][group_name(group)][member] = level_name(level);
  }
}

// "70e9" becomes a number, "bf16" a string.
Json value_named(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_number() || value.is_boolean() ? value : Json(text);
}

// An object from a file, or given as KEY=VALUE,KEY=VALUE; "experts.count=8" sets a nested field.
Json read_object(const std::string& given, const char* option) {
  if (given.find('=') == std::string::npos) {
    Json object = value_or_fail(read_document(given, kMaxJobFileBytes));
    if (object.is_object()) return object;
    throw CommandFailure({ErrorKind::invalid, "cli.badJobFile", "must hold a JSON object", source_name(given), {}});
  }
  Json object = Json::object();
  for (std::size_t begin = 0; begin <= given.size();) {
    const std::size_t end = std::min(given.find(',', begin), given.size());
    const auto [key, value] = split(given.substr(begin, end - begin), option, "FILE or KEY=VALUE,KEY=VALUE");
    Json* at = &object;
    std::size_t from = 0;
    for (std::size_t dot = key.find('.'); dot != std::string::npos; from = dot + 1, dot = key.find('.', from)) {
      at = &(*at)[key.substr(from, dot - from)];
      if (!at->is_object() && !at->is_null()) fail_usage(fmt::format("{} sets '{}' twice", option, key));
    }
    (*at)[key.substr(from)] = value_named(value);
    begin = end + 1;
  }
  return object;
}

// "tp=4,dp=32", where factors that are left out are those of the job.
Json shape_named(const std::string& text, const Json& parallelism) {
  Json shape = parallelism;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto [key, value] = split(text.substr(begin, end - begin), "--shape", "FACTOR=N,FACTOR=N");
    std::string name = key;
    for (const auto& [abbreviation, factor] :
         {std::pair("tp", "tensor"), std::pair("pp", "pipeline"), std::pair("dp", "data"), std::pair("cp", "context"),
          std::pair("ep", "expert")}) {
      if (key == abbreviation) name = factor;
    }
    shape[name] = value_named(value);
    begin = end + 1;
  }
  return shape;
}

void put_shapes(Json& body, const JobOptions& options) {
  if (!options.shapes.empty()) body["shapes"] = Json::array();
  const Json none = Json::object();
  const Json& own = body.contains("parallelism") ? body["parallelism"] : none;
  std::vector<Json> shapes;
  for (const auto& text : options.shapes) shapes.push_back(shape_named(text, own));
  for (Json& shape : shapes) body["shapes"].push_back(std::move(shape));
  if (options.data_at_least) body["dataAtLeast"] = *options.data_at_least;
}

// "loader=8:2": 8 members, at most 2 on a node.
void put_cpu_roles(Json& body, const std::vector<std::string>& roles) {
  if (!roles.empty()) body["cpuRoles"] = Json::array();
  for (const auto& text : roles) {
    const auto [name, count] = split(text, "--cpu-role", "NAME=MEMBERS[:MAX]");
    const auto colon = count.find(':');
    Json role{{"name", name}, {"members", value_named(count.substr(0, colon))}};
    if (colon != std::string::npos) role["maxPerNode"] = value_named(count.substr(colon + 1));
    body["cpuRoles"].push_back(std::move(role));
  }
}

void put_model_and_traffic(Json& body, const JobOptions& options) {
  if (!options.model.empty()) body["model"] = read_object(options.model, "--model");
  if (!options.bandwidth.empty()) body["bandwidth"] = read_object(options.bandwidth, "--bandwidth");
  if (options.traffic.empty()) return;
  Json traffic = read_object(options.traffic, "--traffic");
  for (auto& [group, sent] : traffic.items()) {
    if (sent.is_number()) sent = Json{{"bytesPerStep", sent}};
  }
  body["traffic"] = std::move(traffic);
}

// "tier=gold:20", whose value may have a colon in it.
void put_preferences(Json& body, const std::vector<std::string>& texts, const char* option, bool avoid) {
  for (const auto& text : texts) {
    constexpr const char* kForm = "KEY=VALUE:WEIGHT";
    const auto [key, rest] = split(text, option, kForm);
    const auto colon = rest.rfind(':');
    if (colon == std::string::npos) fail_usage(fmt::format("{} takes {}, not '{}'", option, kForm, text));
    Json preference{{"nodeSelector", {{key, rest.substr(0, colon)}}}, {"weight", value_named(rest.substr(colon + 1))}};
    if (avoid) preference["avoid"] = true;
    body["preferNodes"].push_back(std::move(preference));
  }
}

// "dedicated=research", or "dedicated" for every value.
void put_tolerations(Json& body, const std::vector<std::string>& texts) {
  if (!texts.empty()) body["tolerations"] = Json::array();
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    Json toleration{{"key", text.substr(0, equals)}};
    if (equals != std::string::npos) toleration["value"] = text.substr(equals + 1);
    body["tolerations"].push_back(std::move(toleration));
  }
}

void put_placement(Json& body, const PlacementOptions& options) {
  put_levels(body, options.require, "--require", "required");
  put_levels(body, options.prefer, "--prefer", "preferred");
  if (options.across_sites) body["topology"]["acrossSites"] = true;
  if (options.mixed_gpus) body["mixedGpus"] = true;
  if (!options.spread.empty()) body["topology"]["pipeline"]["spread"] = level_name(options.spread);
  if (!options.spread_job.empty()) {
    const auto [level, most] = split(options.spread_job, "--spread-job", "LEVEL=GPUS");
    body["topology"]["spread"] = {{"level", level_name(level)}, {"maxGpusPerGroup", value_named(most)}};
  }
  if (!options.exclusive.empty()) body["topology"]["exclusive"] = level_name(options.exclusive);
  if (options.spares_per_domain) body["sparesPerDomain"] = *options.spares_per_domain;
  if (!options.slices.empty()) body["topology"]["slices"] = Json::array();
  for (const auto& slice : options.slices) {
    const auto [level, size] = split(slice, "--slice", "LEVEL=GPUS");
    body["topology"]["slices"].push_back({{"level", level_name(level)}, {"size", value_named(size)}});
  }
  if (!options.only.empty()) body["nodes"] = options.only;
  if (!options.exclude.empty()) body["excludeNodes"] = options.exclude;
  for (const auto& selection : options.select) {
    const auto [key, value] = split(selection, "--select", "KEY=VALUE");
    body["nodeSelector"][key] = value;
  }
  if (!options.prefer_nodes.empty() || !options.avoid_nodes.empty()) body["preferNodes"] = Json::array();
  put_preferences(body, options.prefer_nodes, "--prefer-nodes", false);
  put_preferences(body, options.avoid_nodes, "--avoid-nodes", true);
  put_tolerations(body, options.tolerate);
}

// Options set members of these fields, which must therefore be objects or absent.
void expect_object(const Json& body, FieldName name) {
  const Json& value = field(body, name);
  if (value.is_null() || value.is_object()) return;
  throw CommandFailure(
      {ErrorKind::invalid, "cli.badJobFile", "must be an object", fmt::format("/{}", name.text()), {}});
}

Json read_body(const std::string& path) {
  if (path.empty()) return Json::object();
  Json body = value_or_fail(read_document(path, kMaxJobFileBytes));
  if (!body.is_object()) {
    throw CommandFailure({ErrorKind::invalid, "cli.badJobFile", "a job is a JSON object", source_name(path), {}});
  }
  for (const FieldName name : std::initializer_list<FieldName>{"parallelism", "topology", "nodeSelector"}) {
    expect_object(body, name);
  }
  if (body.contains("topology")) {
    for (const auto& [group, request] : body["topology"].items()) {
      if (request.is_object() || (group == "slices" && request.is_array()) || group == "exclusive" ||
          group == "acrossSites") {
        continue;
      }
      throw CommandFailure({ErrorKind::invalid, "cli.badJobFile", "must be an object", "/topology/" + group, {}});
    }
  }
  return body;
}

void add_placement_options(CLI::App& command, PlacementOptions& options) {
  const auto repeated = [&](const char* name, std::vector<std::string>& into, const char* type,
                            const char* description) {
    command.add_option(name, into, description)->type_name(type)->allow_extra_args(false)->group(kPlacementGroup);
  };
  repeated(
      "--require", options.require, "GROUP=LEVEL",
      "Place each tensor, context or expert group, each pipeline stage or the whole job within one nvlinkDomain, node, "
      "rack, leafGroup, pod, cluster or site; repeatable");
  repeated("--prefer", options.prefer, "GROUP=LEVEL", "The same, preferred but not required; repeatable");
  command
      .add_flag(
          "--across-sites", options.across_sites,
          "Stages and replicas may be placed on different sites, joined by long-haul links; tensor, context and expert "
          "groups never are")
      ->group(kPlacementGroup);
  command
      .add_flag("--mixed-gpus", options.mixed_gpus,
                "GPUs of several models may be mixed; otherwise the job runs on GPUs of one model")
      ->group(kPlacementGroup);
  command
      .add_option("--spread", options.spread,
                  "Place each pipeline stage in a different node, rack, leafGroup, pod or site")
      ->type_name("LEVEL")
      ->group(kPlacementGroup);
  command
      .add_option("--spread-job", options.spread_job,
                  "Most GPUs of the job in one node, rack, leafGroup, pod or site, to limit what one failure costs")
      ->type_name("LEVEL=GPUS")
      ->group(kPlacementGroup);
  command
      .add_option("--exclusive", options.exclusive,
                  "Share no node, nvlinkDomain, rack, leafGroup or pod with other jobs")
      ->type_name("LEVEL")
      ->group(kPlacementGroup);
  add_number_option(command, "--spares-per-domain", options.spares_per_domain,
                    "GPUs of each used NVLink domain to hold idle as spares")
      ->group(kPlacementGroup);
  repeated("--slice", options.slices, "LEVEL=GPUS",
           "Place each run of this many consecutive ranks within one group of the level");
  repeated("--only", options.only, "NODE", "Only on this node; repeatable");
  repeated("--exclude", options.exclude, "NODE", "Not on this node; repeatable");
  repeated("--select", options.select, "KEY=VALUE", "Only on nodes with this label; repeatable");
  repeated("--prefer-nodes", options.prefer_nodes, "KEY=VALUE:WEIGHT",
           "Rather on nodes with this label: being there is worth communication that takes WEIGHT percent (1 to 100) "
           "longer; repeatable");
  repeated("--avoid-nodes", options.avoid_nodes, "KEY=VALUE:WEIGHT", "Rather not on them, in the same way; repeatable");
  repeated("--tolerate", options.tolerate, "KEY[=VALUE]",
           "Also on nodes with this taint (nodes set --taint), which other jobs do not come to; repeatable");
}

}  // namespace

std::string level_name(const std::string& text) {
  std::string name;
  bool capital = false;
  for (const char c : text) {
    if (c == '-') {
      capital = true;
      continue;
    }
    name += capital && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    capital = false;
  }
  return name;
}

void add_job_options(CLI::App& command, JobOptions& options, GpusPerNode meaning) {
  const auto number = [&](const char* name, std::optional<std::uint64_t>& into, const char* description) {
    return add_number_option(command, name, into, description);
  };
  number("--tp", options.tensor, "Tensor parallelism: ranks per tensor group");
  number("--pp", options.pipeline, "Pipeline parallelism: stages");
  number("--dp", options.data, "Data parallelism: replicas");
  number("--cp", options.context, "Context parallelism");
  number("--ep", options.expert, "Expert parallelism, a factor of the number of ranks");
  command.add_flag("--experts-over-data", options.experts_over_data,
                   "Count --ep inside --dp, as Megatron does: experts are spread over data-parallel ranks");
  command
      .add_option(
          "--shape", options.shapes,
          "Another shape that it may run in, such as tp=4,dp=32: it takes the one that is best of those that fit; "
          "repeatable")
      ->type_name("FACTOR=N,FACTOR=N")
      ->allow_extra_args(false);
  number("--dp-at-least", options.data_at_least, "Fewer replicas than --dp, down to this many, where more do not fit");
  number("--gpus", options.gpus, "Number of GPUs, instead of the factors above");
  command
      .add_option(
          "--cpu-role", options.cpu_roles,
          "Members without GPUs, such as driver=1 or loader=8:2 (at most 2 on a node): on the job's nodes, else "
          "near them; repeatable")
      ->type_name("NAME=MEMBERS[:MAX]")
      ->allow_extra_args(false);
  command.add_option("--tenant", options.tenant, "Tenant of the job")->type_name("NAME");
  command.add_option("--name", options.name, "Name of the job")->type_name("NAME");
  command.add_option("--priority", options.priority, "Priority class")->type_name("NAME");
  command.add_option("--duration", options.duration, "Expected duration, such as PT36H or P1DT12H")
      ->type_name("DURATION");
  command.add_option("--min-runtime", options.min_runtime, "Run at least this long before eviction, such as PT30M")
      ->type_name("DURATION");
  command.add_option("-f,--file", options.file, "Job in JSON, - for stdin; other options override its fields")
      ->type_name("FILE");
  command
      .add_option(
          "--model", options.model,
          "Model, for a prediction of the training step: a JSON file, or parameters=70e9,layers=80,hiddenSize=8192,"
          "sequenceLength=8192,globalBatchSize=1024,gradientExchange=parameterServers,parameterServers=4")
      ->type_name("FILE|FIELDS");
  command
      .add_option("--traffic", options.traffic,
                  "Bytes that a rank sends per step, by group: a JSON file, or data=8e9,pipeline=1e9; "
                  "data.bytesPerStep=8e9,data.exchange=inNetwork")
      ->type_name("FILE|FIELDS");
  command
      .add_option("--bandwidth", options.bandwidth,
                  "Bandwidth to guarantee within the tenant's contract: a JSON file, or "
                  "guaranteedGbpsPerPort=100,model=pattern,qosClass=all-reduce,surviveLinkFailure=true")
      ->type_name("FILE|FIELDS");
  if (meaning == GpusPerNode::of_the_job) {
    number("--gpus-per-node", options.gpus_per_node, "Exact number of GPUs on each node used")->group(kPlacementGroup);
  }
  add_placement_options(command, options.placement);
}

bool names_job(const JobOptions& options) {
  const PlacementOptions& p = options.placement;
  const bool numbers = options.tensor || options.pipeline || options.data || options.context || options.expert ||
                       options.gpus || options.gpus_per_node || options.experts_over_data || options.data_at_least ||
                       p.spares_per_domain;
  const bool lists = !options.shapes.empty() || !options.cpu_roles.empty() || !p.require.empty() || !p.prefer.empty() ||
                     !p.only.empty() || !p.exclude.empty() || !p.select.empty() || !p.slices.empty() ||
                     !p.prefer_nodes.empty() || !p.avoid_nodes.empty() || !p.tolerate.empty();
  const bool texts = !options.file.empty() || !options.tenant.empty() || !options.name.empty() ||
                     !options.priority.empty() || !options.duration.empty() || !options.min_runtime.empty() ||
                     !options.model.empty() || !options.traffic.empty() || !options.bandwidth.empty() ||
                     !p.spread.empty() || !p.spread_job.empty() || !p.exclusive.empty();
  return numbers || lists || texts || p.across_sites || p.mixed_gpus;
}

Json job_request(const JobOptions& options) {
  Json body = read_body(options.file);
  if (options.experts_over_data && !options.expert) fail_usage("--experts-over-data needs --ep");
  const bool factors = options.tensor || options.pipeline || options.data || options.context || options.expert;
  if (options.gpus && factors) {
    fail_usage("--gpus contradicts --tp, --pp, --dp, --cp and --ep", "give one or the other");
  }
  if (factors) {
    body.erase("gpus");
    Json& parallelism = body["parallelism"];
    for (const auto& [name, value] :
         {std::pair("tensor", options.tensor), std::pair("pipeline", options.pipeline), std::pair("data", options.data),
          std::pair("context", options.context), std::pair("expert", options.expert)}) {
      if (value) parallelism[name] = *value;
    }
    if (options.experts_over_data) parallelism["expertsOver"] = "data";
  }
  if (options.gpus) {
    body.erase("parallelism");
    body["gpus"] = *options.gpus;
  }
  if (options.file.empty() && !factors && !options.gpus) {
    fail_usage("the number of GPUs is missing", "give --tp, --pp and --dp, or --gpus, or a file with -f");
  }
  for (const auto& [name, value] :
       {std::pair("tenant", &options.tenant), std::pair("name", &options.name),
        std::pair("priority", &options.priority), std::pair("expectedDuration", &options.duration),
        std::pair("minRuntime", &options.min_runtime)}) {
    if (!value->empty()) body[name] = *value;
  }
  put_shapes(body, options);
  put_cpu_roles(body, options.cpu_roles);
  if (options.gpus_per_node) body["gpusPerNode"] = *options.gpus_per_node;
  put_placement(body, options.placement);
  put_model_and_traffic(body, options);
  return body;
}

}  // namespace railweave::cli
