#include "fabric/formats/slurm/slurm_topology.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>

#include "fabric/base/natural_order.h"
#include "fabric/formats/slurm/hostlist.h"
#include "fabric/topology/locality.h"

namespace railweave::fabric {
namespace {

// A group of nodes; children are positions in the level below. The lowest level has nodes.
struct Group {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::size_t> children;
};
using Groups = std::vector<Group>;

// The hosts that placement counts as well (locality.h).
std::vector<HostId> nodes_of(const Topology& topology) {
  const auto having = [&](auto has) {
    std::vector<HostId> hosts;
    for (const HostId host : topology.hosts()) {
      if (has(host)) hosts.push_back(host);
    }
    return hosts;
  };
  auto hosts = having([&](HostId host) { return !topology.gpus(host).empty(); });
  if (hosts.empty()) hosts = having([&](HostId host) { return topology.kind(host) == HostKind::compute; });
  if (hosts.empty()) hosts = having([](HostId) { return true; });
  std::ranges::stable_sort(hosts,
                           [&](HostId a, HostId b) { return natural_compare(topology.name(a), topology.name(b)) < 0; });
  return hosts;
}

std::string slurm_name(const std::string& name, std::set<std::string>& taken) {
  std::string plain;
  for (const char c : name) plain += is_slurm_name(std::string_view(&c, 1)) ? c : '_';
  if (plain.empty()) plain = "group";
  std::string unique = plain;
  for (unsigned n = 2; !taken.insert(unique).second; ++n) unique = fmt::format("{}.{}x", plain, n);
  return unique;
}

bool is_of(const Level& level, LevelKind kind) {
  return level.kind == kind || std::ranges::find(level.also, kind) != level.also.end();
}

// Groups of single nodes only where these are all there is: nothing joins any two nodes.
bool is_written(const Level& level) {
  if (is_of(level, LevelKind::cluster)) return true;
  return level.kind != LevelKind::node && (is_of(level, LevelKind::nvlink_domain) ||
                                           is_of(level, LevelKind::leaf_group) || is_of(level, LevelKind::pod));
}

class SlurmWriter {
 public:
  explicit SlurmWriter(const Topology& topology) : topology_(topology), locality_(derive_locality(topology)) {}

  Result<SlurmTopology> write(SlurmFormat format, SlurmPlugin plugin) {
    for (const HostId host : nodes_of(topology_)) {
      const std::string name(topology_.name(host));
      if (is_slurm_name(name)) {
        nodes_.push_back(host);
      } else {
        refused_.push_back(name);
      }
    }
    if (nodes_.empty()) {
      return fail(ErrorKind::invalid, "slurm.noNodes", "the fabric has no node whose name Slurm takes", {},
                  "names of Slurm's nodes are made of letters, digits, '.', '_' and '-'");
    }
    if (!refused_.empty()) {
      out_.notes.push_back(fmt::format("{} nodes are left out, as Slurm takes no such names, '{}' for example",
                                       refused_.size(), refused_.front()));
    }
    if (plugin == SlurmPlugin::tree) {
      write_tree(format);
    } else if (auto done = write_blocks(format); !done) {
      return std::unexpected(done.error());
    }
    return std::move(out_);
  }

 private:
  // The groups of a level, in order of their first nodes, each as the positions of its nodes in nodes_.
  std::vector<std::pair<std::uint32_t, std::vector<std::size_t>>> members(const Level& level) const {
    std::vector<std::pair<std::uint32_t, std::vector<std::size_t>>> groups;
    std::map<std::uint32_t, std::size_t> place;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const std::uint32_t group = level.group_of_host[nodes_[i].index()];
      const auto [at, fresh] = place.emplace(group, groups.size());
      if (fresh) groups.push_back({group, {}});
      groups[at->second].second.push_back(i);
    }
    return groups;
  }

  // Levels from near to far; the last holds the roots.
  std::vector<Groups> tree() const {
    std::vector<Groups> levels;
    std::set<std::string> taken;
    std::vector<std::size_t> below(nodes_.size());  // per node, its group in the level below
    for (const Level& level : locality_.levels) {
      if (!is_written(level)) continue;
      Groups groups;
      std::vector<std::size_t> own(nodes_.size());
      for (const auto& [number, positions] : members(level)) {
        Group group{slurm_name(level.group_names[number], taken), {}, {}};
        for (const std::size_t i : positions) {
          own[i] = groups.size();
          if (levels.empty()) {
            group.nodes.emplace_back(topology_.name(nodes_[i]));
          } else if (std::ranges::find(group.children, below[i]) == group.children.end()) {
            group.children.push_back(below[i]);
          }
        }
        groups.push_back(std::move(group));
      }
      levels.push_back(std::move(groups));
      below = std::move(own);
      if (is_of(level, LevelKind::cluster)) break;
    }
    return levels;
  }

  void write_tree(SlurmFormat format) {
    const std::vector<Groups> levels = tree();
    if (format == SlurmFormat::yaml)
      out_.text += "---\n- topology: railweave\n  cluster_default: true\n  tree:\n    switches:\n";
    for (std::size_t depth = levels.size(); depth-- > 0;) {
      for (const Group& group : levels[depth]) {
        std::vector<std::string> names = group.nodes;
        for (const std::size_t child : group.children) names.push_back(levels[depth - 1][child].name);
        const std::string list = compress_hostlist(names);
        if (format == SlurmFormat::conf) {
          out_.text += "SwitchName=" + group.name + (depth == 0 ? " Nodes=" : " Switches=") + list + "\n";
        } else {
          out_.text += "      - switch: \"" + group.name + "\"\n        " +
                       (depth == 0 ? "nodes: \"" : "children: \"") + list + "\"\n";
        }
      }
    }
  }

  Result<void> write_blocks(SlurmFormat format) {
    const Level* blocks = locality_.find(LevelKind::nvlink_domain);
    if (blocks == nullptr || blocks->kind == LevelKind::node) blocks = locality_.find(LevelKind::leaf_group);
    if (blocks == nullptr) blocks = locality_.find(LevelKind::cluster);
    const auto parts = members(*locality_.find(LevelKind::cluster));
    if (parts.size() > 1 && format == SlurmFormat::conf) {
      return fail(ErrorKind::invalid, "slurm.severalFabrics",
                  fmt::format("nothing joins the fabric's {} parts, and blocks in topology.conf are of one fabric",
                              parts.size()),
                  {},
                  "topology.yaml (Slurm 25.05 and later) has a topology for each part; a tree is right for any Slurm");
    }
    const Level& cluster = *locality_.find(LevelKind::cluster);
    std::set<std::string> taken;
    if (format == SlurmFormat::yaml) out_.text += "---\n";
    for (const auto& [part, unused] : parts) {
      Groups groups;
      std::size_t least = nodes_.size();
      for (const auto& [number, positions] : members(*blocks)) {
        if (cluster.group_of_host[nodes_[positions.front()].index()] != part) continue;
        Group group{slurm_name(blocks->group_names[number], taken), {}, {}};
        for (const std::size_t i : positions) group.nodes.emplace_back(topology_.name(nodes_[i]));
        least = std::min(least, group.nodes.size());
        groups.push_back(std::move(group));
      }
      write_part(format, groups, least, parts.size() == 1 ? "railweave" : "railweave-" + cluster.group_names[part],
                 part == parts.front().first);
    }
    return {};
  }

  // Slurm takes no block with fewer nodes than the size, so that is the smallest one's.
  void write_part(SlurmFormat format, const Groups& groups, std::size_t size, const std::string& name,
                  bool is_default) {
    if (format == SlurmFormat::yaml) {
      out_.text += fmt::format(
          "- topology: \"{}\"\n"
          "  cluster_default: {}\n"
          "  block:\n"
          "    block_sizes:\n"
          "      - {}\n"
          "    blocks:\n",
          name, is_default ? "true" : "false", size);
    }
    for (const Group& group : groups) {
      const std::string list = compress_hostlist(group.nodes);
      out_.text += format == SlurmFormat::conf
                       ? "BlockName=" + group.name + " Nodes=" + list + "\n"
                       : "      - block: \"" + group.name + "\"\n        nodes: \"" + list + "\"\n";
    }
    if (format == SlurmFormat::conf) out_.text += fmt::format("BlockSizes={}\n", size);
  }

  const Topology& topology_;
  const Locality locality_;
  std::vector<HostId> nodes_;  // in natural order of names
  std::vector<std::string> refused_;
  SlurmTopology out_;
};

}  // namespace

Result<SlurmTopology> write_slurm_topology(const Topology& topology, SlurmFormat format, SlurmPlugin plugin) {
  return SlurmWriter(topology).write(format, plugin);
}

}  // namespace railweave::fabric
