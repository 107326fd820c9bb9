#include "scheduler/placement/check/placement_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>

namespace railweave::scheduler {
namespace {

using fabric::GpuId;
using fabric::HostId;
using fabric::LevelKind;
using Rule = PlacementViolation::Rule;

class Check {
 public:
  explicit Check(const CheckedMap& map)
      : map_(map), t_(map.topology), spec_(map.spec), before_(map.before.begin(), map.before.end()) {}

  std::vector<PlacementViolation> run() {
    if (!ranks()) return std::move(found_);
    availability();
    nodes();
    levels();
    slices();
    spread();
    per_node();
    exclusive();
    spares();
    if (map_.cut_off != nullptr) {
      if (auto why = (*map_.cut_off)(map_.gpu_of_rank)) add(Rule::unreachable, std::move(*why));
    }
    return std::move(found_);
  }

 private:
  using Part = std::uint64_t;
  static constexpr Part kAlone = Part{1} << 62U;  // and the GPU or node: it is in no group of the level

  void add(Rule rule, std::string text) {
    if (found_.empty() || found_.back().rule != rule) found_.push_back({rule, std::move(text)});
  }
  [[nodiscard]] std::string node(GpuId gpu) const { return std::string(t_.name(t_.host(gpu))); }
  [[nodiscard]] static bool bit(std::span<const std::uint64_t> masks, HostId host, unsigned local) {
    return host.index() < masks.size() && (masks[host.index()] >> local & 1U) != 0;
  }

  bool ranks() {
    if (map_.gpu_of_rank.size() != rank_count(spec_.parallelism)) {
      add(Rule::ranks, fmt::format("{} GPUs for {} ranks", map_.gpu_of_rank.size(), rank_count(spec_.parallelism)));
      return false;
    }
    std::set<GpuId> seen;
    for (const auto gpus : {map_.gpu_of_rank, map_.idle_gpus}) {
      for (const GpuId gpu : gpus) {
        if (!gpu || gpu.index() >= t_.gpus().size()) {
          add(Rule::ranks, "a GPU is not in the fabric");
          return false;
        }
        if (!seen.insert(gpu).second) add(Rule::ranks, "a GPU of " + node(gpu) + " is used twice");
      }
    }
    return true;
  }

  void availability() {
    std::optional<std::string> taken, lost, closed;
    const std::set<GpuId> out(map_.lost.begin(), map_.lost.end());
    for (const auto gpus : {map_.gpu_of_rank, map_.idle_gpus}) {
      const bool of_ranks = gpus.data() == map_.gpu_of_rank.data();
      for (const GpuId gpu : gpus) {
        const unsigned local = t_.local_index(gpu);
        const auto where = [&] { return fmt::format("GPU {} of {}", local, node(gpu)); };
        if (!taken && bit(map_.held_by_others, t_.host(gpu), local)) taken = where() + " belongs to another job";
        if (!lost && of_ranks && out.contains(gpu)) lost = where() + " is out of use";
        const bool moved = of_ranks && !before_.contains(gpu);
        if (!closed && moved && bit(map_.closed, t_.host(gpu), local)) closed = where() + " takes no new ranks";
      }
    }
    if (taken) add(Rule::taken, std::move(*taken));
    if (lost) add(Rule::lost, std::move(*lost));
    if (closed) add(Rule::closed, std::move(*closed));
  }

  void nodes() {
    const std::set<std::string_view> only(spec_.only_nodes.begin(), spec_.only_nodes.end());
    const std::set<std::string_view> excluded(spec_.exclude_nodes.begin(), spec_.exclude_nodes.end());
    std::set<HostId> seen;
    for (const GpuId gpu : map_.gpu_of_rank) {
      const HostId host = t_.host(gpu);
      if (!seen.insert(host).second) continue;
      const std::string_view name = t_.name(host);
      if (!only.empty() && !only.contains(name)) add(Rule::nodes, std::string(name) + " is not among its nodes");
      if (excluded.contains(name)) add(Rule::nodes, std::string(name) + " is excluded");
      for (const auto& [key, value] : spec_.node_selector) {
        const auto labels = t_.labels(host);
        const bool carried = std::ranges::any_of(
            labels, [&](const auto& label) { return t_.text(label.key) == key && t_.text(label.value) == value; });
        if (!carried) add(Rule::nodes, fmt::format("{} has no label {}={}", name, key, value));
      }
    }
    taints();
  }

  // Ranks may stay where they were before.
  void taints() {
    for (const GpuId gpu : map_.gpu_of_rank) {
      if (before_.contains(gpu)) continue;
      for (const auto& label : t_.labels(t_.host(gpu))) {
        const std::string_view key = t_.text(label.key);
        if (!key.starts_with(kTaintPrefix)) continue;
        const std::string_view taint = key.substr(kTaintPrefix.size()), value = t_.text(label.value);
        const bool tolerated = std::ranges::any_of(spec_.tolerations, [&](const Toleration& one) {
          return one.key == taint && one.value.value_or(std::string(value)) == value;
        });
        if (!tolerated) add(Rule::nodes, fmt::format("{} has the taint {}={}", node(gpu), taint, value));
      }
    }
  }

  // The group of the level that a GPU is in; none: the fabric has no such level.
  [[nodiscard]] std::optional<Part> part(LevelKind kind, GpuId gpu) const {
    const HostId host = t_.host(gpu);
    if (kind == LevelKind::node) return host.index();
    if (kind == LevelKind::nvlink_domain) {
      const auto domain = t_.nvlink_domain(gpu);
      return domain ? domain.index() : kAlone + gpu.index();
    }
    const fabric::Level* level = map_.locality.find(kind);
    if (level == nullptr) return std::nullopt;
    return level->group_of_host[host.index()];
  }

  template <class ClassOf>
  void together(Rule rule, LevelKind kind, const std::string& what, ClassOf class_of) {
    if (auto why = apart(kind, what, class_of)) add(rule, std::move(*why));
  }

  template <class ClassOf>
  [[nodiscard]] std::optional<std::string> apart(LevelKind kind, const std::string& what, ClassOf class_of) const {
    std::map<std::uint64_t, std::uint64_t> first;  // class -> its first rank
    for (std::uint64_t rank = 0; rank < map_.gpu_of_rank.size(); ++rank) {
      const GpuId gpu = map_.gpu_of_rank[rank];
      const auto here = part(kind, gpu);
      if (!here) return fmt::format("the fabric has no level {}, which {} requires", fabric::to_string(kind), what);
      const auto [at, fresh] = first.try_emplace(class_of(rank), rank);
      if (fresh || part(kind, map_.gpu_of_rank[at->second]) == here) continue;
      return fmt::format("{} is not in one {}: rank ", what, fabric::to_string(kind)) + std::to_string(at->second) +
             " is on " + node(map_.gpu_of_rank[at->second]) + ", rank " + std::to_string(rank) + " on " + node(gpu);
    }
    return std::nullopt;
  }

  void levels() {
    const Parallelism& p = spec_.parallelism;
    const auto tensor = [&](std::uint64_t rank) { return rank / p.tensor; };
    const auto context = [&](std::uint64_t rank) {
      RankCoordinates at = coordinates_of(p, rank);
      at.tp = at.cp = 0;
      return rank_of(p, at);
    };
    const auto expert = [&](std::uint64_t rank) {
      RankCoordinates at = coordinates_of(p, rank);
      at.tp = at.ep = 0;
      return rank_of(p, at);
    };
    const auto stage = [&](std::uint64_t rank) { return std::uint64_t{coordinates_of(p, rank).pp}; };
    const auto job = [](std::uint64_t) { return std::uint64_t{0}; };
    if (p.tensor > 1) together(Rule::level, LevelKind::nvlink_domain, "a tensor group", tensor);
    const auto required = [&](const LevelRequest& request, std::uint64_t size, const std::string& what, auto class_of) {
      if (request.required && size > 1) together(Rule::level, *request.required, what, class_of);
    };
    required(spec_.tensor, p.tensor, "a tensor group", tensor);
    required(spec_.context, p.context, "a context group", context);
    required(spec_.expert, p.expert, "an expert group", expert);
    required(spec_.stage, rank_count(p), "a pipeline stage", stage);
    required(spec_.job, rank_count(p), "the job", job);
    connected(context, expert, job);
  }

  // What is not asked for but holds for every job: one cluster, or one site, unless it may span sites.
  template <class Context, class Expert, class Job>
  void connected(Context context, Expert expert, Job job) {
    const auto& all = map_.locality.levels;
    if (all.empty()) return;
    const LevelKind farthest = all.back().kind;
    const LevelKind within = map_.locality.find(LevelKind::cluster) != nullptr ? LevelKind::cluster : farthest;
    if (!spec_.across_sites) return together(Rule::level, within, "the job", job);
    together(Rule::level, farthest, "the job", job);
    together(Rule::level, within, "a context group", context);
    together(Rule::level, within, "an expert group", expert);
  }

  // Of ranks in their order, or, where expert groups are the nearer ones, with these inside context groups.
  void slices() {
    const Parallelism& p = spec_.parallelism;
    const auto position = [&](std::uint64_t rank) {
      const RankCoordinates at = coordinates_of(p, rank);
      std::uint64_t place = at.pp;
      place = place * p.data + at.dp;
      place = place * p.context + at.cp;
      place = place * p.expert + at.ep;
      return place * p.tensor + at.tp;
    };
    std::optional<std::string> in_order, expert_inside;
    for (const Slice& slice : spec_.slices) {
      const std::string what = fmt::format("a slice of {} GPUs", slice.gpus);
      if (!in_order) in_order = apart(slice.level, what, [&](std::uint64_t rank) { return rank / slice.gpus; });
      if (!expert_inside) {
        expert_inside = apart(slice.level, what, [&](std::uint64_t rank) { return position(rank) / slice.gpus; });
      }
    }
    if (in_order && expert_inside) add(Rule::slices, std::move(*in_order));
  }

  void spread() {
    const Parallelism& p = spec_.parallelism;
    if (spec_.spread) {
      std::map<Part, std::uint64_t> in_group;
      for (const GpuId gpu : map_.gpu_of_rank) {
        const auto group = part(spec_.spread->level, gpu);
        if (!group) return add(Rule::spread, "the fabric has no level to spread the job over");
        if (++in_group[*group] > spec_.spread->max_gpus_per_group) {
          add(Rule::spread, fmt::format("more than {} ranks in one {}, that of {}", spec_.spread->max_gpus_per_group,
                                        fabric::to_string(spec_.spread->level), node(gpu)));
        }
      }
    }
    if (!spec_.spread_stages) return;
    const LevelKind kind = *spec_.spread_stages;
    std::map<Part, std::uint32_t> stage_of_group;
    for (std::uint64_t rank = 0; rank < map_.gpu_of_rank.size(); ++rank) {
      const auto group = part(kind, map_.gpu_of_rank[rank]);
      if (!group) return add(Rule::spread, "the fabric has no level to spread the stages over");
      const std::uint32_t stage = coordinates_of(p, rank).pp;
      if (stage_of_group.try_emplace(*group, stage).first->second != stage) {
        add(Rule::spread, fmt::format("two pipeline stages share the {} of {}", fabric::to_string(kind),
                                      node(map_.gpu_of_rank[rank])));
      }
    }
    together(Rule::spread, kind, "a pipeline stage that is spread",
             [&](std::uint64_t rank) { return std::uint64_t{coordinates_of(p, rank).pp}; });
  }

  void per_node() {
    if (!spec_.gpus_per_node) return;
    std::map<HostId, std::uint32_t> on_node;
    for (const GpuId gpu : map_.gpu_of_rank) ++on_node[t_.host(gpu)];
    for (const auto& [host, count] : on_node) {
      if (count == *spec_.gpus_per_node) continue;
      add(Rule::per_node, fmt::format("{} ranks on {}, not {}", count, t_.name(host), *spec_.gpus_per_node));
    }
  }

  void exclusive() {
    if (!spec_.exclusive) return;
    std::set<Part> own;
    std::set<GpuId> held(map_.gpu_of_rank.begin(), map_.gpu_of_rank.end());
    held.insert(map_.idle_gpus.begin(), map_.idle_gpus.end());
    // GPUs without NVLink count as one domain of their node.
    const auto group = [&](GpuId gpu) -> std::optional<Part> {
      if (*spec_.exclusive == LevelKind::nvlink_domain && !t_.nvlink_domain(gpu)) return kAlone + t_.host(gpu).index();
      return part(*spec_.exclusive, gpu);
    };
    for (const GpuId gpu : map_.gpu_of_rank) {
      const auto here = group(gpu);
      if (!here) return add(Rule::exclusive, "the fabric has no level that it is to have to itself");
      own.insert(*here);
    }
    const std::set<GpuId> lost(map_.lost.begin(), map_.lost.end());
    for (const GpuId gpu : t_.gpus()) {
      const auto here = group(gpu);
      if (!here || !own.contains(*here)) continue;
      if (bit(map_.held_by_others, t_.host(gpu), t_.local_index(gpu))) {
        add(Rule::exclusive, "another job runs beside it on " + node(gpu));
      } else if (!held.contains(gpu) && !lost.contains(gpu)) {
        add(Rule::exclusive, "it does not hold all GPUs of " + node(gpu));
      }
    }
  }

  void spares() {
    if (spec_.spares_per_domain == 0 || map_.spares_may_be_used_up) return;
    const auto domain = [&](GpuId gpu) {
      return t_.nvlink_domain(gpu) ? Part{t_.nvlink_domain(gpu).index()} : kAlone + t_.host(gpu).index();
    };
    std::map<Part, std::uint64_t> idle;
    for (const GpuId gpu : map_.gpu_of_rank) idle.try_emplace(domain(gpu), 0);
    for (const GpuId gpu : map_.idle_gpus) {
      if (const auto at = idle.find(domain(gpu)); at != idle.end()) ++at->second;
    }
    for (const auto& [part, count] : idle) {
      if (count < spec_.spares_per_domain) {
        add(Rule::spares, fmt::format("{} spares in an NVLink domain, not {}", count, spec_.spares_per_domain));
      }
    }
  }

  const CheckedMap& map_;
  const fabric::Topology& t_;
  const JobSpec& spec_;
  const std::set<GpuId> before_;
  std::vector<PlacementViolation> found_;
};

}  // namespace

std::vector<PlacementViolation> check_placement(const CheckedMap& map) { return Check(map).run(); }

std::string text(std::span<const PlacementViolation> violations) {
  std::string all;
  for (const auto& one : violations) all += (all.empty() ? "" : "; ") + one.text;
  return all;
}

}  // namespace railweave::scheduler
