#include "services/slurm/ranks/rank_text.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "fabric/formats/slurm/hostlist.h"
#include "services/slurm/ranks/admin_comment.h"

namespace railweave::slurm {
namespace {

constexpr std::size_t kMaxRanks = 1'048'576;

std::unexpected<Error> unreadable(const std::string& what) {
  return fail(ErrorKind::malformed, "slurm.badRanks", what + " is no text of railweave-slurm's about ranks");
}

// The next part of `text` up to `end`, which is taken off it.
std::string_view take(std::string_view& text, char end) {
  const std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

std::optional<std::uint32_t> number(std::string_view text) { return whole_number<std::uint32_t>(text); }

// "4" or "4-7".
std::optional<std::pair<std::uint32_t, std::uint32_t>> range(std::string_view text) {
  const std::string_view first = take(text, '-');
  const auto from = number(first);
  const auto to = text.empty() ? from : number(text);
  if (!from || !to || *to < *from || *to - *from >= kMaxRanks) return std::nullopt;
  return std::pair(*from, *to);
}

std::string range_text(std::uint32_t from, std::uint32_t to) {
  return from == to ? std::to_string(from) : fmt::format("{}-{}", from, to);
}

// Numbers in their order, those that count up as ranges.
std::string numbers_text(const std::vector<unsigned>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + range_text(numbers[i], numbers[end - 1]);
    i = end;
  }
  return text;
}

std::optional<std::vector<unsigned>> read_numbers(std::string_view text) {
  std::vector<unsigned> numbers;
  while (!text.empty()) {
    const auto part = range(take(text, ','));
    if (!part || numbers.size() + (part->second - part->first) >= kMaxRanks) return std::nullopt;
    for (std::uint32_t n = part->first; n <= part->second; ++n) numbers.push_back(n);
  }
  return numbers;
}

std::string order_text(const std::vector<std::uint32_t>& node_of) {
  struct Run {
    std::uint32_t node, ranks;
  };
  std::vector<Run> runs;
  for (const std::uint32_t node : node_of) {
    if (runs.empty() || runs.back().node != node) runs.push_back({node, 0});
    ++runs.back().ranks;
  }
  std::string text;
  for (std::size_t i = 0; i < runs.size();) {
    std::size_t end = i + 1;
    while (end < runs.size() && runs[end].ranks == runs[i].ranks && runs[end].node == runs[end - 1].node + 1) ++end;
    text +=
        fmt::format("{}{}x{}", text.empty() ? "" : ",", range_text(runs[i].node, runs[end - 1].node), runs[i].ranks);
    i = end;
  }
  return text;
}

bool read_order(std::string_view text, std::size_t nodes, std::vector<std::uint32_t>& node_of) {
  while (!text.empty()) {
    std::string_view run = take(text, ',');
    const auto at = range(take(run, 'x'));
    const auto ranks = number(run);
    if (!at || !ranks || at->second >= nodes || *ranks > kMaxRanks) return false;
    for (std::uint32_t node = at->first; node <= at->second; ++node) {
      if (node_of.size() + *ranks > kMaxRanks) return false;
      node_of.insert(node_of.end(), *ranks, node);
    }
  }
  return true;
}

bool is_variable(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return c == '_' || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); });
}

// What all nodes have alike goes from their settings to the common variables.
void find_common(JobRanks& ranks) {
  if (ranks.settings.empty()) return;
  const auto first = ranks.settings.front().only;
  for (const auto& [name, value] : first) {
    const bool common = std::ranges::all_of(ranks.settings, [&](const NodeSettings& node) {
      const auto at = node.only.find(name);
      return at != node.only.end() && at->second == value;
    });
    // Adapters belong to a node even where they are the same on all of them.
    if (!common || name == "NCCL_IB_HCA") continue;
    ranks.common[name] = value;
    for (NodeSettings& node : ranks.settings) node.only.erase(name);
  }
}

std::string words_of(const std::map<std::string, std::string>& variables) {
  std::string text;
  for (const auto& [name, value] : variables) text += " " + name + "=" + value;
  return text;
}

// Nodes that are set up alike share a group.
std::string settings_text(const std::vector<NodeSettings>& settings) {
  std::map<std::string, std::vector<unsigned>> groups;
  std::vector<const std::string*> in_order;
  for (std::uint32_t node = 0; node < settings.size(); ++node) {
    const std::string words = " gpus=" + numbers_text(settings[node].gpus) + words_of(settings[node].only);
    const auto [group, added] = groups.try_emplace(words);
    if (added) in_order.push_back(&group->first);
    group->second.push_back(node);
  }
  std::string text;
  for (const std::string* words : in_order) text += " @" + numbers_text(groups.at(*words)) + *words;
  return text;
}

bool read_words(std::string_view text, JobRanks& ranks) {
  std::vector<unsigned> group;  // empty: what all nodes have
  while (!text.empty()) {
    std::string_view word = take(text, ' ');
    if (word.empty()) continue;
    if (word.starts_with('@')) {
      auto nodes = read_numbers(word.substr(1));
      if (!nodes || nodes->empty() || std::ranges::max(*nodes) >= ranks.nodes.size()) return false;
      group = std::move(*nodes);
      ranks.settings.resize(ranks.nodes.size());
      continue;
    }
    const std::string name(take(word, '='));
    if (name == "order") {
      if (!read_order(word, ranks.nodes.size(), ranks.node_of)) return false;
    } else if (name == "gpus" && !group.empty()) {
      const auto gpus = read_numbers(word);
      if (!gpus) return false;
      for (const unsigned node : group) ranks.settings[node].gpus = *gpus;
    } else if (!is_variable(name)) {
      return false;
    } else if (group.empty()) {
      ranks.common[name] = word;
    } else {
      for (const unsigned node : group) ranks.settings[node].only[name] = word;
    }
  }
  return true;
}

}  // namespace

Result<JobRanks> read_rank_lines(std::string placement, std::string_view text) {
  JobRanks ranks{.placement = std::move(placement)};
  std::map<std::string, std::uint32_t, std::less<>> at;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    if (line.empty() || line.starts_with('#')) continue;
    const auto rank = number(take(line, ' '));
    const std::string_view name = take(line, ' ');
    const auto gpu = number(take(line, ' '));
    if (!rank || *rank != ranks.node_of.size() || name.empty() || !gpu) return unreadable("a list of ranks");
    const auto [node, added] = at.try_emplace(std::string(name), static_cast<std::uint32_t>(ranks.nodes.size()));
    if (added) {
      ranks.nodes.emplace_back(name);
      ranks.settings.emplace_back();
    }
    ranks.node_of.push_back(node->second);
    NodeSettings& settings = ranks.settings[node->second];
    settings.gpus.push_back(*gpu);
    while (added && !line.empty()) {
      std::string_view value = take(line, ' ');
      const std::string variable(take(value, '='));
      if (is_variable(variable)) settings.only[variable] = value;
    }
  }
  find_common(ranks);
  return ranks;
}

std::string write_job_ranks(const JobRanks& ranks, std::string_view remark, std::size_t most) {
  std::string where = ranks.placement + " on " + fabric::compress_hostlist(ranks.nodes);
  if (!remark.empty()) where += ", " + std::string(remark);
  if (ranks.node_of.empty() && ranks.settings.empty() && ranks.common.empty()) return where;
  std::string text = where + ";";
  if (!ranks.node_of.empty()) text += " order=" + order_text(ranks.node_of);
  text += words_of(ranks.common) + settings_text(ranks.settings);
  return text.size() <= most ? text : where;
}

Result<JobRanks> read_job_ranks(std::string_view admin_comment) {
  std::string_view text = split_admin_comment(admin_comment).mark;
  if (!text.starts_with(kMarkWord)) return unreadable("the AdminComment");
  text.remove_prefix(kMarkWord.size());
  JobRanks ranks{.placement = std::string(take(text, ' '))};
  if (!ranks.placement.starts_with("job-") || take(text, ' ') != "on") return unreadable("the AdminComment");
  std::string_view where = take(text, ';');
  where = where.substr(0, where.find(' '));
  if (where.ends_with(',')) where.remove_suffix(1);  // a remark follows
  auto nodes = fabric::expand_hostlist(where, kMaxRanks);
  if (!nodes || nodes->empty()) return unreadable("the AdminComment's list of nodes");
  ranks.nodes = std::move(*nodes);
  if (!read_words(text, ranks)) return unreadable("the AdminComment");
  return ranks;
}

}  // namespace railweave::slurm
