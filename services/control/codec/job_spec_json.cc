#include "services/control/codec/job_spec_json.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "scheduler/collective/traffic.h"
#include "services/control/codec/job_json.h"
#include "services/control/codec/model_json.h"
#include "services/json/record.h"

namespace railweave::api {
namespace {

using fabric::LevelKind;
using scheduler::JobSpec;
using scheduler::LevelRequest;

constexpr double kMaxGbps = 1'000'000;
constexpr std::string_view kLevels = "nvlinkDomain, node, rack, leafGroup, pod, cluster, site, wan";

void read_level(ObjectReader& reader, std::string_view field, std::optional<LevelKind>& into) {
  std::optional<std::string> name;
  reader.read(field, name);
  if (!name) return;
  into = level_named(*name);
  if (!into) {
    reader.set_error(field, "there is no level " + shown(*name), "the levels are " + std::string(kLevels));
  }
}

// A level that need not be given. A form of record.h.
struct OptionalLevel {
  static void read(ObjectReader& reader, std::string_view name, std::optional<LevelKind>& into) {
    read_level(reader, name, into);
  }
  static Out write(const std::optional<LevelKind>& level) {
    return level ? Out(fabric::to_string(*level)) : Out(nullptr);
  }
};

using scheduler::Parallelism;
constexpr std::tuple kParallelismFields{field("tensor", &Parallelism::tensor),
                                        field("pipeline", &Parallelism::pipeline), field("data", &Parallelism::data),
                                        field("context", &Parallelism::context), field("expert", &Parallelism::expert)};
constexpr std::tuple kLevelFields{optional_field("required", &LevelRequest::required, OptionalLevel{}),
                                  optional_field("preferred", &LevelRequest::preferred, OptionalLevel{})};
constexpr std::tuple kCpuRoleFields{required_field("name", &scheduler::CpuRole::name),
                                    field("members", &scheduler::CpuRole::members),
                                    optional_field("maxPerNode", &scheduler::CpuRole::max_per_node)};
// "job-000001"
struct PeerNumber {
  static void read(ObjectReader& reader, std::string_view name, std::uint64_t& into) {
    std::string text;
    reader.read(name, text);
    const auto id = control::parse_job_id(text);
    if (!id) return reader.set_error(name, shown(text) + " is no job");
    into = id->number();
  }
  static Out write(std::uint64_t number) { return control::to_string(control::JobId(number)); }
};
constexpr Names<scheduler::RoleSpread, 2> kRoleSpreads{
    {{"allToAll", scheduler::RoleSpread::all_to_all}, {"byRank", scheduler::RoleSpread::by_rank}}};
constexpr std::tuple kPeerFields{field("job", &scheduler::RolePeer::job, PeerNumber{}),
                                 field("role", &scheduler::RolePeer::role),
                                 field("sends", &scheduler::RolePeer::sends),
                                 field("bytesPerStep", &scheduler::RolePeer::bytes),
                                 field("spread", &scheduler::RolePeer::spread, OneOf{kRoleSpreads, "spread"}),
                                 field("counted", &scheduler::RolePeer::counted)};
constexpr std::tuple kExternalFields{field("scheduler", &scheduler::ExternalId::scheduler),
                                     field("id", &scheduler::ExternalId::id),
                                     optional_field("part", &scheduler::ExternalId::part),
                                     optional_field("step", &scheduler::ExternalId::step),
                                     optional_field("advice", &scheduler::ExternalId::advice),
                                     optional_field("gainPermille", &scheduler::ExternalId::gain_permille)};

void read_request(ObjectReader& topology, std::string_view field, LevelRequest& into,
                  std::optional<LevelKind>* spread = nullptr) {
  const Json* value = topology.take(field);
  if (value == nullptr) return;
  ObjectReader reader(*value, topology.pointer(field));
  read_fields(reader, into, kLevelFields);
  if (spread != nullptr) read_level(reader, "spread", *spread);
  if (auto done = reader.finish(); !done) topology.set_error(done.error());
}

void read_parallelism(ObjectReader& fields, Parallelism& p) {
  read_fields(fields, p, kParallelismFields);
  std::optional<std::string> over;
  fields.read("expertsOver", over);
  if (over && *over != "world" && *over != "data") {
    fields.set_error(
        "expertsOver", shown(*over) + " is neither world nor data",
        "world: a factor of the number of ranks; data: inside the data-parallel ranks, as Megatron counts");
  }
  if (over && *over == "data" && p.expert != 0) {
    if (p.data % p.expert != 0) {
      fields.set_error("expert",
                       fmt::format("expert groups of {} do not divide {} data-parallel ranks", p.expert, p.data),
                       "use a divisor of data, or leave expertsOver out to count experts as a factor of their own");
    } else {
      p.data /= p.expert;
      p.experts_over_data = true;
    }
  }
}

void read_parallelism(ObjectReader& reader, JobSpec& spec) {
  const Json* value = reader.take("parallelism");
  if (value == nullptr) return;
  ObjectReader fields(*value, reader.pointer("parallelism"));
  read_parallelism(fields, spec.parallelism);
  if (auto done = fields.finish(); !done) reader.set_error(done.error());
}

void add_shape(JobSpec& spec, const Parallelism& shape) {
  if (std::ranges::find(spec.shapes, shape) == spec.shapes.end()) spec.shapes.push_back(shape);
}

// Fewer data-parallel ranks, down to this many, in steps of whole expert groups.
void read_data_at_least(ObjectReader& reader, JobSpec& spec) {
  std::optional<std::uint32_t> at_least;
  reader.read("dataAtLeast", at_least);
  if (!at_least) return;
  const Parallelism& p = spec.parallelism;
  const std::uint32_t ranks_of_step = p.experts_over_data ? p.expert : 1;
  if (*at_least == 0 || *at_least > p.data_ranks()) {
    return reader.set_error(
        "dataAtLeast",
        fmt::format("{} is not between 1 and the {} data-parallel ranks of the parallelism", *at_least, p.data_ranks()),
        "the parallelism says the most");
  }
  const std::uint32_t least = (*at_least + ranks_of_step - 1) / ranks_of_step;
  if (p.data - least >= JobSpec::kMaxShapes) {
    return reader.set_error(
        "dataAtLeast", fmt::format("makes {} shapes; at most {} are compared", p.data - least + 1, JobSpec::kMaxShapes),
        "list those that matter in 'shapes'");
  }
  add_shape(spec, p);
  for (Parallelism fewer = p; fewer.data > least;) {
    --fewer.data;
    add_shape(spec, fewer);
  }
}

void read_shapes(ObjectReader& reader, JobSpec& spec) {
  const Json* list = reader.take("shapes");
  if (list != nullptr && !list->is_null()) {
    if (!list->is_array() || list->size() > JobSpec::kMaxShapes) {
      return reader.set_error("shapes",
                              fmt::format("a list of at most {} parallelisms is wanted", JobSpec::kMaxShapes));
    }
    std::vector<Parallelism> listed;
    for (std::size_t i = 0; i < list->size(); ++i) {
      ObjectReader fields((*list)[i], fmt::format("{}/{}", reader.pointer("shapes"), i));
      read_parallelism(fields, listed.emplace_back());
      if (auto done = fields.finish(); !done) return reader.set_error(done.error());
    }
    const bool own = std::ranges::find(listed, spec.parallelism) != listed.end();
    if (!own && !listed.empty()) add_shape(spec, spec.parallelism);
    for (const Parallelism& shape : listed) add_shape(spec, shape);
  }
  read_data_at_least(reader, spec);
  if (spec.shapes.size() == 1) spec.shapes.clear();
}

void read_slices(ObjectReader& topology, JobSpec& spec) {
  const Json* list = topology.take("slices");
  if (list == nullptr) return;
  if (!list->is_array() || list->size() > JobSpec::kMaxSlices) {
    return topology.set_error("slices",
                              fmt::format("a list of at most {} {{level, size}} is wanted", JobSpec::kMaxSlices));
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    ObjectReader reader((*list)[i], fmt::format("{}/{}", topology.pointer("slices"), i));
    std::optional<LevelKind> level;
    scheduler::Slice slice;
    reader.require("level");
    read_level(reader, "level", level);
    reader.require("size");
    reader.read("size", slice.gpus);
    if (auto done = reader.finish(); !done) return topology.set_error(done.error());
    if (!level) {
      return topology.set_error(
          {ErrorKind::invalid, "body.invalidField", "expected a level, not null", topology.pointer("slices"), {}});
    }
    slice.level = *level;
    spec.slices.push_back(slice);
  }
}

void read_spread(ObjectReader& topology, JobSpec& spec) {
  const Json* value = topology.take("spread");
  if (value == nullptr || value->is_null()) return;
  ObjectReader reader(*value, topology.pointer("spread"));
  std::optional<LevelKind> level;
  scheduler::SpreadLimit spread;
  reader.require("level");
  read_level(reader, "level", level);
  reader.require("maxGpusPerGroup");
  reader.read("maxGpusPerGroup", spread.max_gpus_per_group);
  if (auto done = reader.finish(); !done) return topology.set_error(done.error());
  if (!level) return topology.set_error("spread", "expected a level, not null");
  spread.level = *level;
  spec.spread = spread;
}

void read_cpu_roles(ObjectReader& reader, JobSpec& spec) {
  const Json* list = reader.take("cpuRoles");
  if (list == nullptr || list->is_null()) return;
  if (!list->is_array() || list->size() > JobSpec::kMaxCpuRoles) {
    return reader.set_error(
        "cpuRoles", fmt::format("a list of at most {} {{name, members, maxPerNode}} is wanted", JobSpec::kMaxCpuRoles));
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    ObjectReader fields((*list)[i], fmt::format("{}/{}", reader.pointer("cpuRoles"), i));
    scheduler::CpuRole role;
    read_fields(fields, role, kCpuRoleFields);
    if (fields.has("maxPerNode") && role.max_per_node == 0) {
      fields.set_error("maxPerNode", "must be at least 1", "leave it out for any number");
    }
    if (auto done = fields.finish(); !done) return reader.set_error(done.error());
    spec.cpu_roles.push_back(std::move(role));
  }
}

void read_preferences(ObjectReader& reader, JobSpec& spec) {
  const Json* list = reader.take("preferNodes");
  if (list == nullptr || list->is_null()) return;
  if (!list->is_array() || list->size() > JobSpec::kMaxPreferences) {
    return reader.set_error(
        "preferNodes",
        fmt::format("a list of at most {} {{nodes, nodeSelector, weight, avoid}} is wanted", JobSpec::kMaxPreferences));
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    ObjectReader fields((*list)[i], fmt::format("{}/{}", reader.pointer("preferNodes"), i));
    scheduler::NodePreference preference;
    fields.read("nodes", preference.nodes, 100'000);
    fields.read("nodeSelector", preference.node_selector, 64);
    fields.read("weight", preference.weight);
    fields.read("avoid", preference.avoid);
    if (auto done = fields.finish(); !done) return reader.set_error(done.error());
    spec.prefer_nodes.push_back(std::move(preference));
  }
}

void read_tolerations(ObjectReader& reader, JobSpec& spec) {
  const Json* list = reader.take("tolerations");
  if (list == nullptr || list->is_null()) return;
  if (!list->is_array() || list->size() > JobSpec::kMaxTolerations) {
    return reader.set_error("tolerations",
                            fmt::format("a list of at most {} {{key, value}} is wanted", JobSpec::kMaxTolerations));
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    ObjectReader fields((*list)[i], fmt::format("{}/{}", reader.pointer("tolerations"), i));
    scheduler::Toleration toleration;
    fields.require("key");
    fields.read("key", toleration.key);
    fields.read("value", toleration.value);
    if (auto done = fields.finish(); !done) return reader.set_error(done.error());
    spec.tolerations.push_back(std::move(toleration));
  }
}

void read_peers(ObjectReader& reader, JobSpec& spec) {
  const Json* list = reader.take("peers");
  if (list == nullptr || list->is_null()) return;
  if (!list->is_array() || list->size() > JobSpec::kMaxPeers) {
    return reader.set_error("peers", fmt::format("a list of at most {} is wanted", JobSpec::kMaxPeers));
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    ObjectReader fields((*list)[i], fmt::format("{}/{}", reader.pointer("peers"), i));
    scheduler::RolePeer peer;
    read_fields(fields, peer, kPeerFields);
    if (auto done = fields.finish(); !done) return reader.set_error(done.error());
    spec.peers.push_back(std::move(peer));
  }
}

void read_topology(ObjectReader& reader, JobSpec& spec) {
  const Json* value = reader.take("topology");
  if (value == nullptr) return;
  ObjectReader fields(*value, reader.pointer("topology"));
  read_request(fields, "tensor", spec.tensor);
  read_request(fields, "context", spec.context);
  read_request(fields, "expert", spec.expert);
  read_request(fields, "pipeline", spec.stage, &spec.spread_stages);
  read_request(fields, "job", spec.job);
  fields.read("acrossSites", spec.across_sites);
  read_slices(fields, spec);
  read_spread(fields, spec);
  read_level(fields, "exclusive", spec.exclusive);
  if (auto done = fields.finish(); !done) reader.set_error(done.error());
}

void read_bandwidth(ObjectReader& reader, JobSpec& spec) {
  const Json* value = reader.take("bandwidth");
  if (value == nullptr || value->is_null()) return;
  ObjectReader fields(*value, reader.pointer("bandwidth"));
  scheduler::BandwidthTerms request;
  std::optional<std::string> model;
  fields.read("model", model);
  if (model) {
    if (*model != "hose" && *model != "pattern") {
      fields.set_error("model", "there is no model " + shown(*model), "hose or pattern");
    }
    request.model = *model == "pattern" ? scheduler::BandwidthModel::pattern : scheduler::BandwidthModel::hose;
  }
  const auto read_rate = [&](const char* name, std::optional<RateMbps>& into) {
    if (!fields.has(name)) return;
    double gbps = 0;
    fields.read(name, gbps);
    if (gbps < 0 || gbps > kMaxGbps) return fields.set_error(name, "is no rate from 0 to 1000000 Gb/s");
    into = RateMbps(std::llround(gbps * 1000));
  };
  read_rate("guaranteedGbpsPerPort", request.guaranteed);
  read_rate("betweenRolesGbpsPerPort", request.between_roles);
  if (fields.has("surviveLinkFailure")) {
    bool survive = false;
    fields.read("surviveLinkFailure", survive);
    request.survive_link_failure = survive;
  }
  fields.read("qosClass", request.qos_class);
  if (auto done = fields.finish(); !done) return reader.set_error(done.error());
  spec.bandwidth = std::move(request);
}

void read_external(ObjectReader& reader, JobSpec& spec) {
  const Json* value = reader.take("external");
  if (value == nullptr) return;
  ObjectReader fields(*value, reader.pointer("external"));
  read_fields(fields, spec.external, kExternalFields);
  if (auto done = fields.finish(); !done) reader.set_error(done.error());
}

void read_model_and_traffic(ObjectReader& reader, JobSpec& spec) {
  if (const Json* value = reader.take("model"); value != nullptr && !value->is_null()) {
    auto model = model_from_json(*value, reader.pointer("model"));
    if (!model) return reader.set_error(model.error());
    spec.model = std::move(*model);
  }
  if (const Json* value = reader.take("traffic"); value != nullptr && !value->is_null()) {
    auto traffic = traffic_from_json(*value, reader.pointer("traffic"));
    if (!traffic) return reader.set_error(traffic.error());
    spec.traffic = *traffic;
  }
}

void read_gpus(ObjectReader& reader, JobSpec& spec) {
  std::optional<std::uint64_t> gpus;
  reader.read("gpus", gpus);
  if (reader.failed()) return;
  if (!gpus) {
    if (reader.has("parallelism")) return;
    return reader.set_error({ErrorKind::invalid,
                             "body.missingField",
                             "say how many GPUs: 'parallelism' or 'gpus' is missing",
                             reader.pointer("parallelism"),
                             {}});
  }
  if (reader.has("parallelism")) {
    if (scheduler::rank_count(spec.parallelism) == *gpus) return;
    return reader.set_error(
        "gpus", fmt::format("the parallelism makes {} ranks, not {}", scheduler::rank_count(spec.parallelism), *gpus),
        "give one of the two, or make them agree");
  }
  if (*gpus == 0 || *gpus > JobSpec::kMaxRanks) {
    return reader.set_error("gpus", fmt::format("{} GPUs cannot be asked for", *gpus),
                            fmt::format("1 to {}", JobSpec::kMaxRanks));
  }
  spec.parallelism.data = static_cast<std::uint32_t>(*gpus);
}

Out preference_json(const scheduler::NodePreference& preference) {
  Out value{{"weight", preference.weight}};
  if (!preference.nodes.empty()) value["nodes"] = preference.nodes;
  if (!preference.node_selector.empty()) value["nodeSelector"] = preference.node_selector;
  if (preference.avoid) value["avoid"] = true;
  return value;
}

Out toleration_json(const scheduler::Toleration& toleration) {
  Out value{{"key", toleration.key}};
  if (toleration.value) value["value"] = *toleration.value;
  return value;
}

}  // namespace

Out to_json(const Parallelism& parallelism) {
  Out value = fields_json(parallelism, kParallelismFields);
  if (parallelism.experts_over_data) {
    value["data"] = parallelism.data_ranks();
    value["expertsOver"] = "data";
  }
  return value;
}

void read_duration(ObjectReader& reader, std::string_view field, std::optional<std::int64_t>& into) {
  std::optional<std::string> duration;
  reader.read(field, duration);
  if (!duration) return;
  into = parse_duration_s(*duration);
  if (!into) reader.set_error(field, shown(*duration) + " is no duration", "like PT36H or P1DT12H (ISO 8601)");
}

Result<JobSpec> job_spec_from_json(const Json& value, const std::string& pointer) {
  JobSpec spec;
  ObjectReader reader(value, pointer);
  reader.read("name", spec.name);
  reader.read("tenant", spec.tenant);
  reader.read("priority", spec.priority);
  read_parallelism(reader, spec);
  read_gpus(reader, spec);
  if (!reader.failed()) read_shapes(reader, spec);
  reader.read("gpusPerNode", spec.gpus_per_node);
  read_topology(reader, spec);
  reader.read("sparesPerDomain", spec.spares_per_domain);
  read_cpu_roles(reader, spec);
  read_peers(reader, spec);
  read_model_and_traffic(reader, spec);
  read_bandwidth(reader, spec);
  reader.read("nodes", spec.only_nodes, 100'000);
  reader.read("excludeNodes", spec.exclude_nodes, 100'000);
  reader.read("nodeSelector", spec.node_selector, 64);
  read_preferences(reader, spec);
  read_tolerations(reader, spec);
  reader.read("mixedGpus", spec.mixed_gpus);
  read_duration(reader, "expectedDuration", spec.expected_duration_s);
  read_duration(reader, "minRuntime", spec.min_runtime_s);
  read_external(reader, spec);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return spec;
}

Out to_json(const JobSpec& spec) {
  Out value;
  value["name"] = spec.name;
  value["tenant"] = spec.tenant;
  value["priority"] = spec.priority;
  value["parallelism"] = to_json(spec.parallelism);
  for (const Parallelism& shape : spec.shapes) value["shapes"].push_back(to_json(shape));
  if (spec.gpus_per_node) value["gpusPerNode"] = *spec.gpus_per_node;
  Out topology = Out::object();
  const auto put = [&](const char* name, const LevelRequest& request) {
    if (request.required || request.preferred) topology[name] = fields_json(request, kLevelFields);
  };
  put("tensor", spec.tensor);
  put("context", spec.context);
  put("expert", spec.expert);
  put("pipeline", spec.stage);
  if (spec.spread_stages) topology["pipeline"]["spread"] = fabric::to_string(*spec.spread_stages);
  put("job", spec.job);
  if (spec.across_sites) topology["acrossSites"] = true;
  for (const auto& slice : spec.slices) {
    topology["slices"].push_back({{"level", fabric::to_string(slice.level)}, {"size", slice.gpus}});
  }
  if (spec.spread) {
    topology["spread"] = {{"level", fabric::to_string(spec.spread->level)},
                          {"maxGpusPerGroup", spec.spread->max_gpus_per_group}};
  }
  if (spec.exclusive) topology["exclusive"] = fabric::to_string(*spec.exclusive);
  if (!topology.empty()) value["topology"] = topology;
  if (spec.spares_per_domain > 0) value["sparesPerDomain"] = spec.spares_per_domain;
  for (const auto& role : spec.cpu_roles) value["cpuRoles"].push_back(fields_json(role, kCpuRoleFields));
  for (const auto& peer : spec.peers) value["peers"].push_back(fields_json(peer, kPeerFields));
  if (spec.model) value["model"] = to_json(*spec.model);
  if (spec.traffic) value["traffic"] = to_json(*spec.traffic);
  if (spec.bandwidth) {
    Out bandwidth = Out::object();
    const auto& request = *spec.bandwidth;
    if (request.model) bandwidth["model"] = *request.model == scheduler::BandwidthModel::hose ? "hose" : "pattern";
    if (request.guaranteed)
      bandwidth["guaranteedGbpsPerPort"] = static_cast<double>(request.guaranteed->value()) / 1000;
    if (request.survive_link_failure) bandwidth["surviveLinkFailure"] = *request.survive_link_failure;
    if (!request.qos_class.empty()) bandwidth["qosClass"] = request.qos_class;
    if (request.between_roles) {
      bandwidth["betweenRolesGbpsPerPort"] = static_cast<double>(request.between_roles->value()) / 1000;
    }
    value["bandwidth"] = bandwidth;
  }
  if (!spec.only_nodes.empty()) value["nodes"] = spec.only_nodes;
  if (!spec.exclude_nodes.empty()) value["excludeNodes"] = spec.exclude_nodes;
  if (!spec.node_selector.empty()) value["nodeSelector"] = spec.node_selector;
  for (const auto& preference : spec.prefer_nodes) value["preferNodes"].push_back(preference_json(preference));
  for (const auto& toleration : spec.tolerations) value["tolerations"].push_back(toleration_json(toleration));
  if (spec.mixed_gpus) value["mixedGpus"] = true;
  if (spec.expected_duration_s) value["expectedDuration"] = duration_text(*spec.expected_duration_s);
  if (spec.min_runtime_s) value["minRuntime"] = duration_text(*spec.min_runtime_s);
  if (spec.external != scheduler::ExternalId()) {
    value["external"] = fields_json(spec.external, kExternalFields);
  }
  return value;
}

}  // namespace railweave::api
