#include "fabric/capacity/uneven_links.h"

#include <algorithm>

#include "fabric/capacity/b_matching.h"
#include "fabric/capacity/set_members.h"

namespace railweave::fabric {
namespace {

using GroupSet = std::vector<std::uint64_t>;

// The coarsest partition in which each of `sets` is a union of parts. The groups of a part reach the same targets, so
// they count as one source.
std::vector<GroupSet> parts_of(const std::vector<GroupSet>& sets) {
  std::vector<GroupSet> parts;
  for (GroupSet rest : sets) {
    const std::size_t known = parts.size();
    for (std::size_t i = 0; i < known; ++i) {
      GroupSet both = parts[i];
      bool some = false, all = true;
      for (std::size_t w = 0; w < both.size(); ++w) {
        both[w] &= rest[w];
        some = some || both[w] != 0;
        all = all && both[w] == parts[i][w];
        rest[w] &= ~both[w];
      }
      if (!some || all) continue;
      for (std::size_t w = 0; w < both.size(); ++w) parts[i][w] &= ~both[w];
      parts.push_back(std::move(both));
    }
    if (std::ranges::any_of(rest, [](std::uint64_t word) { return word != 0; })) parts.push_back(std::move(rest));
  }
  return parts;
}

bool overlap(const GroupSet& a, const GroupSet& b) {
  for (std::size_t w = 0; w < a.size(); ++w) {
    if ((a[w] & b[w]) != 0) return true;
  }
  return false;
}

}  // namespace

UnevenLinks::Set& UnevenLinks::Link::towards(std::uint32_t target, std::int64_t target_receive_mbps,
                                             std::size_t words) {
  if (last_target != target) {
    close();
    last_target = target;
    last_receive_mbps = target_receive_mbps;
    latest.assign(words, 0);
  }
  return latest;
}

void UnevenLinks::Link::close() {
  if (last_target == PlaneHose::kNone) return;
  const auto at = std::ranges::find(sets, latest);
  if (at != sets.end()) {
    receive_mbps[static_cast<std::size_t>(at - sets.begin())] += last_receive_mbps;
  } else {
    sets.push_back(latest);
    receive_mbps.push_back(last_receive_mbps);
  }
  last_target = PlaneHose::kNone;
}

void UnevenLinks::add(std::uint32_t use) { links_.push_back({.use = use}); }

void UnevenLinks::solve(SetWalk& walk, HoseMethod method, HoseLoad& result) {
  link_of_use_.assign(uses_.all().size(), PlaneHose::kNone);
  for (std::uint32_t i = 0; i < links_.size(); ++i) link_of_use_[links_[i].use] = i;
  walk.start(hose_);
  const std::vector<Entry> entering = entries();
  for (std::uint32_t target = 0; target < hose_.targets().size(); ++target) {
    add_entries(target, entering, walk.words());
    add_passing(target, walk);
  }
  for (Link& one : links_) {
    one.close();
    const std::int64_t load = largest_load(one, method);
    if (load > 0) result.loads.push_back({uses_.all()[one.use].link, load});
    result.flow_links += method == HoseMethod::exact ? 1 : 0;
  }
}

std::vector<UnevenLinks::Entry> UnevenLinks::entries() const {
  std::vector<Entry> found;
  for (std::uint32_t g = 0; g < hose_.groups().size(); ++g) {
    for (std::uint16_t port = 1; port < hose_.port_count(); ++port) {
      const auto next = hose_.egress().next_hop(hose_.groups()[g].sw, port);
      if (next.sw == PlaneHose::kNone) continue;
      const std::uint32_t use = uses_.find(next.link);
      if (use != LinkUses::Use::kNone && uses_.all()[use].mixed) found.push_back({link_of_use_[use], g, port});
    }
  }
  return found;
}

void UnevenLinks::add_entries(std::uint32_t target, const std::vector<Entry>& entries, std::size_t words) {
  const FirstHops& first = hose_.first_hops();
  for (const Entry& entry : entries) {
    if (hose_.group_of(target) == entry.group) continue;
    std::uint16_t port = first.port(first.bundle_of(entry.group), target);
    for (const auto& one : first.deviations(target)) {
      if (one.source == entry.group) port = one.port;
    }
    if (port != entry.port) continue;
    Set& set = links_[entry.link].towards(target, hose_.targets()[target].receive_mbps, words);
    set[entry.group / 64] |= std::uint64_t{1} << (entry.group % 64);
  }
}

void UnevenLinks::add_passing(std::uint32_t target, SetWalk& walk) {
  const std::int64_t receive = hose_.targets()[target].receive_mbps;
  const std::size_t words = walk.words();
  walk.walk(hose_, target, [&](DirectedLink link, SetWalk::Set set) {
    if (link == PlaneHose::kNone) return;
    const std::uint32_t use = uses_.find(link);
    if (use == LinkUses::Use::kNone || link_of_use_[use] == PlaneHose::kNone) return;
    Set& all = links_[link_of_use_[use]].towards(target, receive, words);
    for (std::size_t w = 0; w < words; ++w) all[w] |= set[w];
  });
}

std::int64_t UnevenLinks::largest_load(const Link& link, HoseMethod method) const {
  const std::vector<Set> parts = parts_of(link.sets);
  std::vector<std::int64_t> send;
  std::int64_t all_send = 0, all_receive = 0;
  for (const Set& part : parts) {
    send.push_back(0);
    for_each_member(part, [&](std::uint32_t group) { send.back() += hose_.groups()[group].digest.send_mbps; });
    all_send += send.back();
  }
  for (const std::int64_t receive : link.receive_mbps) all_receive += receive;
  if (method == HoseMethod::bound) return std::min(all_send, all_receive);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> allowed;
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    for (std::uint32_t s = 0; s < link.sets.size(); ++s) {
      if (overlap(parts[p], link.sets[s])) allowed.emplace_back(p, s);
    }
  }
  return max_b_matching(send, link.receive_mbps, allowed);
}

}  // namespace railweave::fabric
