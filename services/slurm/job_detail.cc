#include "services/slurm/job_detail.h"

#include <algorithm>
#include <map>

#include "fabric/base/whole_number.h"
#include "fabric/formats/slurm/hostlist.h"
#include "services/slurm/ranks/rank_text.h"

namespace railweave::slurm {
namespace {

constexpr unsigned kMaxGpus = 64;  // of a node

std::string_view word_after(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + name.size());
  return line.substr(0, line.find(' '));
}

// Of "gpu:h100:4(IDX:0-2,7),nic:1(IDX:0)": 0, 1, 2, 7.
std::vector<unsigned> indices_of(std::string_view gres) {
  std::vector<unsigned> indices;
  while (!gres.empty()) {
    const std::size_t open = gres.find('(');
    const std::size_t close = gres.find(')', open);
    if (close == std::string_view::npos) break;
    const std::string_view name = gres.substr(0, open);
    std::string_view list = gres.substr(open + 1, close - open - 1);
    gres.remove_prefix(std::min(gres.size(), close + 2));
    if ((name != "gpu" && !name.starts_with("gpu:")) || !list.starts_with("IDX:")) continue;
    list.remove_prefix(4);
    while (!list.empty()) {
      const std::string_view part = list.substr(0, list.find(','));
      list.remove_prefix(std::min(list.size(), part.size() + 1));
      const auto dash = part.find('-');
      const auto from = whole_number<unsigned>(part.substr(0, dash));
      const auto to =
          dash == std::string_view::npos ? from : whole_number<unsigned>(part.substr(dash + 1), kMaxGpus - 1);
      if (!from || !to || *to < *from || *to >= kMaxGpus) return {};
      for (unsigned i = *from; i <= *to; ++i) indices.push_back(i);
    }
  }
  std::ranges::sort(indices);
  return indices;
}

using GpusOf = std::map<std::string, std::vector<unsigned>>;

// By node; empty where the text does not fit the job.
GpusOf gpus_of(const SlurmJob& job, const JobDetail& detail) {
  GpusOf of;
  std::uint64_t gpus = 0;
  for (const RankRun& node : detail.gpus) {
    if (!of.emplace(node.node, node.gpus).second) return {};
    gpus += node.gpus.size();
  }
  const bool fits = of.size() == job.running.size() && gpus == job.gpus &&
                    std::ranges::all_of(job.running, [&](const std::string& node) { return of.contains(node); });
  return fits ? of : GpusOf();
}

// The order of ranks that the mark says; empty where it is not about these GPUs.
std::vector<RankRun> marked_order(const JobDetail& detail, const GpusOf& of) {
  const auto ranks = read_job_ranks(detail.mark);
  if (!ranks || ranks->settings.size() != ranks->nodes.size() || ranks->nodes.size() != of.size()) return {};
  for (std::size_t i = 0; i < ranks->nodes.size(); ++i) {
    const auto node = of.find(ranks->nodes[i]);
    auto gpus = ranks->settings[i].gpus;
    std::ranges::sort(gpus);
    if (node == of.end() || node->second != gpus) return {};
  }
  std::vector<RankRun> runs;
  std::vector<std::size_t> used(ranks->nodes.size());
  std::uint32_t last = 0;
  for (const std::uint32_t node : ranks->node_of) {
    const auto& gpus = ranks->settings[node].gpus;
    if (used[node] == gpus.size()) return {};
    if (runs.empty() || node != last) runs.push_back({ranks->nodes[node], {}});
    runs.back().gpus.push_back(gpus[used[node]++]);
    last = node;
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i] != ranks->settings[i].gpus.size()) return {};
  }
  return runs;
}

}  // namespace

JobDetail read_job_detail(std::string_view text) {
  JobDetail detail;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with("     Nodes=")) {
      const auto nodes = fabric::expand_hostlist(word_after(line, "Nodes="));
      const auto gpus = indices_of(word_after(line, " GRES="));
      if (!nodes || gpus.empty()) continue;
      for (const std::string& node : *nodes) detail.gpus.push_back({node, gpus});
    } else if (line.starts_with("   Requeue=")) {
      detail.requeues = word_after(line, "Requeue=") == "1" && word_after(line, "BatchFlag=") != "0";
    } else if (line.starts_with("   AdminComment=")) {
      detail.mark = line.substr(line.find('=') + 1);
      while (detail.mark.ends_with(' ')) detail.mark.pop_back();
    }
  }
  return detail;
}

Running running_of(const SlurmJob& job, const JobDetail& detail) {
  Running running{.nodes = job.running};
  const GpusOf of = gpus_of(job, detail);
  if (of.empty()) return running;
  running.ranks = marked_order(detail, of);
  if (!running.ranks.empty()) return running;
  for (const std::string& node : job.running) running.ranks.push_back({node, of.at(node)});
  return running;
}

}  // namespace railweave::slurm
