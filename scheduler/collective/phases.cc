#include "scheduler/collective/phases.h"

#include <bit>
#include <map>
#include <string>

#include <fmt/core.h>

namespace railweave::scheduler {

namespace {

using Kind = CollectiveKind;
using Algorithm = CollectiveAlgorithm;

std::unexpected<Error> unsupported(const CollectiveRequest& request, const std::string& why) {
  return fail(ErrorKind::invalid, "collectives.unsupported",
              fmt::format("{} cannot do {}: {}", to_text(request.algorithm), to_text(request.kind), why));
}

// How often the whole vector passes a rank: reduce-scatter and all-gather once, all-reduce twice.
double passes(Kind kind) { return kind == Kind::all_reduce ? 2 : 1; }

bool is_scatter_or_gather(Kind kind) {
  return kind == Kind::all_reduce || kind == Kind::reduce_scatter || kind == Kind::all_gather;
}

// Rank r to the next of its ring, every ring at once.
Phase ring_phase(std::span<const std::vector<std::uint32_t>> rings, double bytes) {
  Phase phase;
  for (const auto& ring : rings) {
    for (std::size_t i = 0; i < ring.size(); ++i) phase.flows.push_back({ring[i], ring[(i + 1) % ring.size()], bytes});
  }
  return phase;
}

std::vector<std::uint32_t> all_ranks(std::uint32_t n) {
  std::vector<std::uint32_t> ranks(n);
  for (std::uint32_t r = 0; r < n; ++r) ranks[r] = r;
  return ranks;
}

Result<std::vector<Phase>> ring(const CollectiveRequest& q) {
  const std::vector<std::vector<std::uint32_t>> rings{all_ranks(q.ranks)};
  const double n = q.ranks;
  if (is_scatter_or_gather(q.kind)) {
    Phase phase = ring_phase(rings, q.bytes / n);
    phase.repeats = passes(q.kind) * (n - 1);
    return std::vector{std::move(phase)};
  }
  if (q.kind == Kind::broadcast || q.kind == Kind::reduce) {  // a pipelined chain
    Phase phase = ring_phase(rings, q.bytes);
    phase.flows.pop_back();
    phase.steps = n - 1;
    return std::vector{std::move(phase)};
  }
  return unsupported(q, "a ring has no such algorithm");
}

// In-order binary tree over 1 to n: the parent has one more trailing zero (as NCCL's btree does); 0: the root.
std::uint32_t tree_parent(std::uint32_t node, std::uint32_t n) {
  const std::uint32_t bit = node & (~node + 1);
  std::uint32_t parent = (node ^ bit) | (bit << 1U);
  if (parent > n) parent = node ^ bit;
  return parent;
}

Result<std::vector<Phase>> tree(const CollectiveRequest& q) {
  const bool up = q.kind == Kind::all_reduce || q.kind == Kind::reduce;
  const bool down = q.kind == Kind::all_reduce || q.kind == Kind::broadcast;
  if (!up && !down) return unsupported(q, "a tree reduces and broadcasts");
  Phase phase;
  // Two trees with half the vector each; the second is the first shifted by one, so that inner nodes of one are leaves
  // of the other.
  for (std::uint32_t shift = 0; shift < 2; ++shift) {
    const auto rank = [&](std::uint32_t node) { return (node - 1 + shift) % q.ranks; };
    for (std::uint32_t node = 1; node <= q.ranks; ++node) {
      const std::uint32_t parent = tree_parent(node, q.ranks);
      if (parent == 0) continue;
      if (up) phase.flows.push_back({rank(node), rank(parent), q.bytes / 2});
      if (down) phase.flows.push_back({rank(parent), rank(node), q.bytes / 2});
    }
  }
  phase.steps = (std::bit_width(q.ranks) - 1) * (up && down ? 2.0 : 1.0);
  return std::vector{std::move(phase)};
}

Result<std::vector<Phase>> halving_doubling(const CollectiveRequest& q) {
  if (!is_scatter_or_gather(q.kind)) return unsupported(q, "it reduces, scatters and gathers");
  if (!std::has_single_bit(q.ranks)) return unsupported(q, "the number of ranks is no power of two");
  std::vector<Phase> phases;
  double bytes = q.bytes / 2;
  for (std::uint32_t distance = q.ranks / 2; distance > 0; distance /= 2, bytes /= 2) {
    Phase phase;
    for (std::uint32_t r = 0; r < q.ranks; ++r) phase.flows.push_back({r, r ^ distance, bytes});
    phase.repeats = passes(q.kind);
    phases.push_back(std::move(phase));
  }
  return phases;
}

Result<std::vector<Phase>> hierarchical(const CollectiveRequest& q) {
  if (!is_scatter_or_gather(q.kind)) return unsupported(q, "it reduces, scatters and gathers");
  if (q.domain_of_rank.size() != q.ranks) return unsupported(q, "the domain of every rank must be known");
  std::map<std::uint32_t, std::size_t> number;  // domains in order of their first rank
  std::vector<std::vector<std::uint32_t>> inside;
  for (std::uint32_t r = 0; r < q.ranks; ++r) {
    const auto [at, is_new] = number.try_emplace(q.domain_of_rank[r], inside.size());
    if (is_new) inside.emplace_back();
    inside[at->second].push_back(r);
  }
  const std::size_t members = inside.front().size();
  std::vector<std::vector<std::uint32_t>> across(members);
  for (const auto& domain : inside) {
    if (domain.size() != members) return unsupported(q, "domains have different numbers of ranks");
    for (std::size_t i = 0; i < members; ++i) across[i].push_back(domain[i]);
  }
  const auto m = static_cast<double>(members), k = static_cast<double>(inside.size());
  std::vector<Phase> phases;
  if (members > 1) {
    phases.push_back(ring_phase(inside, q.bytes / m));
    phases.back().repeats = passes(q.kind) * (m - 1);
  }
  if (inside.size() > 1) {
    phases.push_back(ring_phase(across, q.bytes / m / k));
    phases.back().repeats = passes(q.kind) * (k - 1);
  }
  return phases;
}

Result<std::vector<Phase>> direct(const CollectiveRequest& q) {
  if (q.kind == Kind::point_to_point) return std::vector<Phase>{{.flows = {{0, 1, q.bytes}}}};
  const bool pairwise = is_scatter_or_gather(q.kind) || q.kind == Kind::all_to_all;
  if (!pairwise) return unsupported(q, "it is not made of pairwise transfers");
  if (q.ranks > kMaxDirectRanks) return unsupported(q, "too many pairs; the limit is 2048 ranks");
  Phase phase;
  for (std::uint32_t a = 0; a < q.ranks; ++a) {
    for (std::uint32_t b = 0; b < q.ranks; ++b) {
      if (a != b) phase.flows.push_back({a, b, q.bytes / q.ranks});
    }
  }
  if (q.kind == Kind::all_reduce) phase.repeats = 2;
  return std::vector{std::move(phase)};
}

Result<std::vector<Phase>> in_network(const CollectiveRequest& q) {
  const bool up = q.kind == Kind::all_reduce || q.kind == Kind::reduce || q.kind == Kind::reduce_scatter;
  const bool down = q.kind == Kind::all_reduce || q.kind == Kind::broadcast || q.kind == Kind::all_gather;
  if (!up && !down) return unsupported(q, "switches reduce and multicast");
  const double n = q.ranks;
  Phase phase;
  for (std::uint32_t r = 0; r < q.ranks; ++r) {
    const double sent = q.kind == Kind::all_gather ? q.bytes / n : q.bytes;
    const double received = q.kind == Kind::reduce_scatter ? q.bytes / n : q.bytes;
    const bool root = r == 0;
    if (up || q.kind == Kind::all_gather || root) phase.flows.push_back({r, RankFlow::kNetwork, sent});
    if (down || q.kind == Kind::reduce_scatter || root) phase.flows.push_back({RankFlow::kNetwork, r, received});
  }
  phase.steps = 2.0 * q.switch_depth;
  return std::vector{std::move(phase)};
}

Result<std::vector<Phase>> parameter_server(const CollectiveRequest& q) {
  if (q.kind != Kind::all_reduce) return unsupported(q, "servers do all-reduce only");
  if (q.servers == 0 || q.servers > q.ranks)
    return unsupported(q, "the number of servers must be 1 to the number of ranks");
  Phase there, back;
  for (std::uint32_t s = 0; s < q.servers; ++s) {
    for (std::uint32_t r = 0; r < q.ranks; ++r) {
      if (r == s) continue;
      there.flows.push_back({r, s, q.bytes / q.servers});
      back.flows.push_back({s, r, q.bytes / q.servers});
    }
  }
  std::vector<Phase> phases;
  phases.push_back(std::move(there));
  phases.push_back(std::move(back));
  return phases;
}

Result<std::vector<Phase>> barrier(const CollectiveRequest& q) {  // dissemination
  std::vector<Phase> phases;
  for (std::uint32_t distance = 1; distance < q.ranks; distance *= 2) {
    Phase phase;
    for (std::uint32_t r = 0; r < q.ranks; ++r) phase.flows.push_back({r, (r + distance) % q.ranks, 0});
    phases.push_back(std::move(phase));
  }
  return phases;
}

Result<std::vector<Phase>> phases_of(const CollectiveRequest& q) {
  if (q.kind == Kind::barrier) return barrier(q);
  if (q.kind == Kind::point_to_point) return direct(q);
  switch (q.algorithm) {
    case Algorithm::ring:
      return ring(q);
    case Algorithm::tree:
      return tree(q);
    case Algorithm::halving_doubling:
      return halving_doubling(q);
    case Algorithm::hierarchical:
      return hierarchical(q);
    case Algorithm::direct:
      return direct(q);
    case Algorithm::in_network:
      return in_network(q);
    case Algorithm::parameter_server:
      return parameter_server(q);
  }
  return unsupported(q, "no such algorithm");
}

}  // namespace

Result<PhasePlan> plan_phases(const CollectiveRequest& request) {
  PhasePlan plan{.phases = {}, .ranks = request.ranks};
  if (request.ranks < 2) return plan;
  auto phases = phases_of(request);
  if (!phases) return std::unexpected(std::move(phases.error()));
  plan.phases = std::move(*phases);
  return plan;
}

}  // namespace railweave::scheduler
