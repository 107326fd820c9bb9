#include "scheduler/job/job_spec.h"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/utf8.h"

namespace railweave::scheduler {
namespace {

using fabric::LevelKind;

std::unexpected<Error> invalid(std::string message, std::string location, std::string hint = {}) {
  return fail(ErrorKind::invalid, "jobs.invalid", std::move(message), std::move(location), std::move(hint));
}

std::string too_many_ranks() { return fmt::format("a job has at most {} ranks, one GPU each", JobSpec::kMaxRanks); }

struct Factor {
  std::string_view name;
  std::uint32_t value;
};
std::array<Factor, 5> factors(const Parallelism& p) {
  return {
      {{"tensor", p.tensor}, {"pipeline", p.pipeline}, {"data", p.data}, {"context", p.context}, {"expert", p.expert}}};
}

Result<void> check_parallelism(const Parallelism& parallelism) {
  std::uint64_t product = 1;
  for (const auto& [name, value] : factors(parallelism)) {
    const auto at = [&name] { return "/parallelism/" + std::string(name); };
    if (value == 0) return invalid(std::string(name) + " parallelism must be at least 1", at(), "1 turns it off");
    // The product so far is at most kMaxRanks and a factor below 2^32, so this cannot overflow.
    product *= value;
    if (product > JobSpec::kMaxRanks) return invalid(too_many_ranks(), at(), "reduce a factor");
  }
  return {};
}

Result<void> check_gpus_per_node(const JobSpec& spec) {
  if (!spec.gpus_per_node) return {};
  const std::uint32_t per_node = *spec.gpus_per_node;
  const std::string at = "/gpusPerNode";
  if (per_node == 0 || per_node > JobSpec::kMaxGpusPerNode) {
    return invalid(fmt::format("gpusPerNode must be between 1 and {}", JobSpec::kMaxGpusPerNode), at);
  }
  const std::uint64_t ranks = rank_count(spec.parallelism);
  if (ranks % per_node != 0) {
    return invalid(fmt::format("{} ranks cannot be spread with exactly {} on each node", ranks, per_node), at,
                   "use a divisor of the number of ranks");
  }
  const std::uint32_t tensor = spec.parallelism.tensor;
  if (per_node % tensor != 0 && tensor % per_node != 0) {
    return invalid(
        fmt::format("with {} GPUs on each node, tensor groups of {} would be cut unevenly", per_node, tensor), at,
        "use a multiple or a divisor of the tensor parallelism");
  }
  return {};
}

Result<void> check_name(const std::string& name, std::string_view where, bool may_be_empty) {
  if (name.empty() && may_be_empty) return {};
  std::string at(where);
  if (name.empty()) return invalid("must not be empty", std::move(at));
  if (name.size() > JobSpec::kMaxNameBytes) {
    return invalid(fmt::format("is {} bytes long; at most {} are allowed", name.size(), JobSpec::kMaxNameBytes),
                   std::move(at));
  }
  if (!is_printable_utf8(name)) {
    return invalid("must be printable UTF-8, without control characters", std::move(at));
  }
  return {};
}

// RFC 6901: "~" is written "~0" and "/" is written "~1".
std::string pointer_token(std::string_view text) {
  std::string token;
  for (const char c : text) {
    if (c == '~')
      token += "~0";
    else if (c == '/')
      token += "~1";
    else
      token += c;
  }
  return token;
}

Result<void> check_nodes(const std::vector<std::string>& nodes, const std::string& at, const char* what,
                         const char* instead) {
  if (nodes.size() > JobSpec::kMaxExcludeNodes) {
    return invalid(fmt::format("at most {} nodes can be {}", JobSpec::kMaxExcludeNodes, what), at, instead);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (auto checked = check_name(nodes[i], fmt::format("{}/{}", at, i), false); !checked) return checked;
  }
  return {};
}

Result<void> check_selector(const std::map<std::string, std::string>& selector, const std::string& at) {
  if (selector.size() > JobSpec::kMaxSelectors) {
    return invalid(fmt::format("at most {} labels can be selected by", JobSpec::kMaxSelectors), at);
  }
  for (const auto& [key, value] : selector) {
    // An unprintable key is not repeated in the answer.
    if (!check_name(key, "", false)) return invalid("has a label name that is empty, too long or unprintable", at);
    if (auto checked = check_name(value, at + "/" + pointer_token(key), true); !checked) return checked;
  }
  return {};
}

Result<void> check_preferences(const JobSpec& spec) {
  if (spec.prefer_nodes.size() > JobSpec::kMaxPreferences) {
    return invalid(fmt::format("at most {} preferences of nodes", JobSpec::kMaxPreferences), "/preferNodes");
  }
  for (std::size_t i = 0; i < spec.prefer_nodes.size(); ++i) {
    const NodePreference& preference = spec.prefer_nodes[i];
    const std::string at = fmt::format("/preferNodes/{}", i);
    if (preference.weight == 0 || preference.weight > NodePreference::kMaxWeight) {
      return invalid(fmt::format("a weight is 1 to {} (percent)", NodePreference::kMaxWeight), at + "/weight");
    }
    if (preference.nodes.empty() && preference.node_selector.empty()) {
      return invalid("names neither nodes nor labels", at, "give nodes, nodeSelector or both");
    }
    if (auto checked = check_nodes(preference.nodes, at + "/nodes", "named", "select by label"); !checked) {
      return checked;
    }
    if (auto checked = check_selector(preference.node_selector, at + "/nodeSelector"); !checked) return checked;
  }
  return {};
}

Result<void> check_tolerations(const JobSpec& spec) {
  if (spec.tolerations.size() > JobSpec::kMaxTolerations) {
    return invalid(fmt::format("at most {} taints can be tolerated", JobSpec::kMaxTolerations), "/tolerations");
  }
  for (std::size_t i = 0; i < spec.tolerations.size(); ++i) {
    const Toleration& toleration = spec.tolerations[i];
    const std::string at = fmt::format("/tolerations/{}", i);
    if (auto checked = check_name(toleration.key, at + "/key", false); !checked) return checked;
    if (toleration.key.starts_with(kTaintPrefix)) {
      return invalid(fmt::format("is written without '{}'", kTaintPrefix), at + "/key",
                     "the label taint/dedicated of a node is the taint dedicated");
    }
    if (!toleration.value) continue;
    if (auto checked = check_name(*toleration.value, at + "/value", true); !checked) return checked;
  }
  return {};
}

Result<void> check_names(const JobSpec& spec) {
  using Named = std::pair<const std::string*, std::string_view>;
  for (const auto& [name, at] :
       {Named{&spec.name, "/name"}, Named{&spec.tenant, "/tenant"}, Named{&spec.priority, "/priority"},
        Named{&spec.external.scheduler, "/external/scheduler"}, Named{&spec.external.id, "/external/id"},
        Named{&spec.external.part, "/external/part"}}) {
    if (auto checked = check_name(*name, at, true); !checked) return checked;
  }
  const std::string& step = spec.external.step;
  if (!step.empty() && step != "observe" && step != "order" && step != "place") {
    return invalid("a step of control is observe, order or place", "/external/step");
  }
  if (spec.external.advice.size() > ExternalId::kMaxAdviceBytes) {
    return invalid(fmt::format("advice is at most {} bytes", ExternalId::kMaxAdviceBytes), "/external/advice");
  }
  if (spec.external.gain_permille.value_or(0) > ExternalId::kMaxGainPermille) {
    return invalid(fmt::format("a gain is at most {} permille", ExternalId::kMaxGainPermille),
                   "/external/gainPermille");
  }
  if (spec.bandwidth) {
    if (auto checked = check_name(spec.bandwidth->qos_class, "/bandwidth/qosClass", true); !checked) return checked;
  }
  if (auto checked = check_nodes(spec.only_nodes, "/nodes", "named", "select by label"); !checked) return checked;
  if (auto checked = check_nodes(spec.exclude_nodes, "/excludeNodes", "excluded",
                                 "drain nodes that no job should use, or select by label");
      !checked) {
    return checked;
  }
  if (auto checked = check_selector(spec.node_selector, "/nodeSelector"); !checked) return checked;
  if (auto checked = check_tolerations(spec); !checked) return checked;
  return check_preferences(spec);
}

// Between node and cluster it depends on the fabric which level is the larger.
int above_pods(LevelKind kind) { return 2 + static_cast<int>(kind) - static_cast<int>(LevelKind::cluster); }
int least_distance(LevelKind kind) {
  return kind >= LevelKind::cluster ? above_pods(kind) : kind <= LevelKind::node ? 0 : 1;
}
int most_distance(LevelKind kind) {
  return kind >= LevelKind::cluster ? above_pods(kind) : kind == LevelKind::node ? 0 : 1;
}

Result<void> check_levels(const JobSpec& spec) {
  using Asked = std::pair<const LevelRequest*, std::string_view>;
  for (const auto& [request, group] :
       {Asked{&spec.tensor, "tensor"}, Asked{&spec.context, "context"}, Asked{&spec.expert, "expert"},
        Asked{&spec.stage, "pipeline"}, Asked{&spec.job, "job"}}) {
    const bool farther = request->required == LevelKind::wan || request->preferred == LevelKind::wan;
    if (farther && (!spec.across_sites || (request != &spec.stage && request != &spec.job))) {
      return invalid("only pipeline stages and whole jobs may span sites, and only if the job may",
                     "/topology/" + std::string(group), "set \"acrossSites\": true");
    }
    if (!request->required || !request->preferred) continue;
    const LevelKind required = *request->required;
    const LevelKind preferred = *request->preferred;
    if (least_distance(preferred) > most_distance(required)) {
      return invalid(fmt::format("prefers {} but requires {}, which is nearer", fabric::to_string(preferred),
                                 fabric::to_string(required)),
                     fmt::format("/topology/{}/preferred", group), "omit the preferred level, or make it nearer");
    }
  }
  return {};
}

Result<void> check_slices(const JobSpec& spec) {
  if (spec.slices.size() > JobSpec::kMaxSlices) {
    return invalid(fmt::format("at most {} sizes of slices can be requested", JobSpec::kMaxSlices), "/topology/slices");
  }
  std::uint64_t before = spec.parallelism.tensor;
  const std::uint64_t ranks = rank_count(spec.parallelism);
  for (std::size_t i = 0; i < spec.slices.size(); ++i) {
    const std::uint64_t gpus = spec.slices[i].gpus;
    const std::string at = fmt::format("/topology/slices/{}/size", i);
    if (gpus == 0 || gpus > ranks || ranks % gpus != 0) {
      return invalid(fmt::format("slices of {} GPUs do not make up {} ranks", gpus, ranks), at,
                     "use a divisor of the number of ranks");
    }
    if (gpus % before != 0) {
      return invalid(fmt::format("a slice of {} GPUs is not made of whole {} of {}", gpus,
                                 i == 0 ? "tensor groups" : "slices", before),
                     at, "list slices from small to large, each a multiple of the one before");
    }
    before = gpus;
  }
  return {};
}

Result<void> check_room_beside(const JobSpec& spec) {
  if (spec.spares_per_domain > JobSpec::kMaxSparesPerDomain) {
    return invalid(fmt::format("at most {} spares can be held in each domain", JobSpec::kMaxSparesPerDomain),
                   "/sparesPerDomain");
  }
  if (!spec.spread) return {};
  const std::uint64_t most = spec.spread->max_gpus_per_group;
  if (most < spec.parallelism.tensor) {
    return invalid(fmt::format("a group that holds at most {} GPUs cannot hold a tensor group of {}", most,
                               spec.parallelism.tensor),
                   "/topology/spread/maxGpusPerGroup", "allow at least one tensor group");
  }
  if (most > JobSpec::kMaxRanks)
    return invalid(fmt::format("must be at most {}", JobSpec::kMaxRanks), "/topology/spread/maxGpusPerGroup");
  return {};
}

Result<void> check_cpu_roles(const JobSpec& spec) {
  if (spec.cpu_roles.size() > JobSpec::kMaxCpuRoles) {
    return invalid(fmt::format("a job has at most {} CPU-only roles", JobSpec::kMaxCpuRoles), "/cpuRoles");
  }
  for (std::size_t i = 0; i < spec.cpu_roles.size(); ++i) {
    const CpuRole& role = spec.cpu_roles[i];
    const std::string at = fmt::format("/cpuRoles/{}", i);
    if (auto checked = check_name(role.name, at + "/name", false); !checked) return checked;
    if (role.members == 0 || role.members > JobSpec::kMaxCpuMembers) {
      return invalid(fmt::format("a CPU-only role has 1 to {} members", JobSpec::kMaxCpuMembers), at + "/members");
    }
    for (std::size_t other = 0; other < i; ++other) {
      if (spec.cpu_roles[other].name == role.name) {
        return invalid("another CPU-only role has this name", at + "/name", "give each a name of its own");
      }
    }
  }
  return {};
}

Result<void> check_peers(const JobSpec& spec) {
  constexpr double kMaxBytes = 1e18;
  if (spec.peers.size() > JobSpec::kMaxPeers) {
    return invalid(fmt::format("a job exchanges data with at most {} others of its gang", JobSpec::kMaxPeers),
                   "/peers");
  }
  for (std::size_t i = 0; i < spec.peers.size(); ++i) {
    if (!(spec.peers[i].bytes >= 0 && spec.peers[i].bytes <= kMaxBytes)) {
      return invalid("bytes are between 0 and 1e18", fmt::format("/peers/{}/bytesPerStep", i));
    }
  }
  return {};
}

Result<void> check_traffic(const JobSpec& spec) {
  if (!spec.traffic) return {};
  constexpr double kMost = 1e18;  // bytes or calls of a rank and step; anything more is a mistake
  using Named = std::pair<const GroupTraffic*, std::string_view>;
  const TrafficSpec& t = *spec.traffic;
  for (const auto& [group, name] :
       {Named{&t.tensor, "tensor"}, Named{&t.context, "context"}, Named{&t.expert, "expert"}, Named{&t.data, "data"},
        Named{&t.expert_data, "expertData"}, Named{&t.pipeline, "pipeline"}}) {
    if (!(group->bytes >= 0 && group->bytes <= kMost && group->calls >= 0 && group->calls <= kMost)) {
      return invalid("bytes and calls are between 0 and 1e18", "/traffic/" + std::string(name));
    }
    const std::string where = "/traffic/" + std::string(name);
    if (group->exchange != GradientExchange::rings && group != &t.data && group != &t.expert_data) {
      return invalid("only gradients go through parameter servers or are reduced in the network", where + "/exchange");
    }
    if (group->servers == 0 || group->servers > GroupTraffic::kMaxServers) {
      return invalid(fmt::format("must be 1 to {}", GroupTraffic::kMaxServers), where + "/servers");
    }
    if (group->servers > 1 && group->exchange != GradientExchange::parameter_servers) {
      return invalid("only an exchange through parameter servers has servers", where + "/servers");
    }
  }
  return {};
}

}  // namespace

RankCoordinates coordinates_of(const Parallelism& parallelism, std::uint64_t rank) {
  RankCoordinates at;
  const auto digit = [&rank](std::uint32_t base) {
    const auto value = static_cast<std::uint32_t>(rank % base);
    rank /= base;
    return value;
  };
  at.tp = digit(parallelism.tensor);
  at.cp = digit(parallelism.context);
  at.ep = digit(parallelism.expert);
  at.dp = digit(parallelism.data);
  at.pp = static_cast<std::uint32_t>(rank);
  return at;
}

std::uint64_t rank_of(const Parallelism& parallelism, const RankCoordinates& at) {
  std::uint64_t rank = at.pp;
  rank = rank * parallelism.data + at.dp;
  rank = rank * parallelism.expert + at.ep;
  rank = rank * parallelism.context + at.cp;
  return rank * parallelism.tensor + at.tp;
}

std::uint64_t rank_count(const Parallelism& parallelism) {
  std::uint64_t product = 1;
  for (const auto& [name, value] : factors(parallelism)) {
    product *= value;
    if (product > JobSpec::kMaxRanks) return 0;
  }
  return product;
}

Result<Parallelism> plain_parallelism(std::uint64_t gpus) {
  if (gpus == 0) return invalid("a job needs at least one GPU", "/gpus");
  if (gpus > JobSpec::kMaxRanks) return invalid(too_many_ranks(), "/gpus", "request fewer GPUs");
  Parallelism parallelism;
  parallelism.data = static_cast<std::uint32_t>(gpus);
  return parallelism;
}

namespace {

Result<void> check_one_shape(const JobSpec& spec) {
  if (auto checked = check_parallelism(spec.parallelism); !checked) return checked;
  if (auto checked = check_gpus_per_node(spec); !checked) return checked;
  if (auto checked = check_names(spec); !checked) return checked;
  if (auto checked = check_levels(spec); !checked) return checked;
  if (auto checked = check_slices(spec); !checked) return checked;
  if (auto checked = check_room_beside(spec); !checked) return checked;
  if (auto checked = check_cpu_roles(spec); !checked) return checked;
  if (auto checked = check_traffic(spec); !checked) return checked;
  if (auto checked = check_peers(spec); !checked) return checked;
  if (spec.expected_duration_s &&
      (*spec.expected_duration_s <= 0 || *spec.expected_duration_s > JobSpec::kMaxDurationS)) {
    return invalid("must be longer than zero and at most ten years", "/expectedDuration");
  }
  if (spec.min_runtime_s && (*spec.min_runtime_s < 0 || *spec.min_runtime_s > JobSpec::kMaxDurationS)) {
    return invalid("must be at most ten years", "/minRuntime");
  }
  return {};
}

bool differ_in_data_alone(Parallelism a, const Parallelism& b) {
  a.data = b.data;
  return a == b;
}

Result<void> check_shapes(const JobSpec& spec) {
  if (spec.shapes.empty()) return {};
  if (spec.shapes.size() > JobSpec::kMaxShapes) {
    return invalid(fmt::format("a job has at most {} shapes, its parallelism among them", JobSpec::kMaxShapes),
                   "/shapes", "list those that matter");
  }
  JobSpec one = spec;
  one.shapes.clear();
  for (std::size_t i = 0; i < spec.shapes.size(); ++i) {
    const std::string at = fmt::format("/shapes/{}", i);
    one.parallelism = spec.shapes[i];
    if (auto checked = check_one_shape(one); !checked) {
      Error error = checked.error();
      constexpr std::string_view kOwn = "/parallelism";
      if (error.location.starts_with(kOwn)) error.location = at + error.location.substr(kOwn.size());
      error.message = "in the shape at " + at + ": " + error.message;
      return std::unexpected(std::move(error));
    }
    // The bytes and the computation of a rank change with tensor, context, expert and pipeline parallelism.
    if (!spec.model && !differ_in_data_alone(spec.shapes[i], spec.parallelism)) {
      return invalid("shapes that differ in more than data are compared by the job's model, which is not given", at,
                     "give \"model\", or change data alone");
    }
  }
  return {};
}

}  // namespace

Result<void> check_job_spec(const JobSpec& spec) {
  if (auto checked = check_one_shape(spec); !checked) return checked;
  return check_shapes(spec);
}

}  // namespace railweave::scheduler
