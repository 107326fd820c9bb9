#include "fabric/drivers/infiniband/administration/multicast_book.h"

#include <algorithm>

namespace railweave::fabric::infiniband {
namespace {

// What IPoIB finds in a broadcast group without terms of its own, as other subnet managers have it.
constexpr std::uint32_t kBroadcastQueueKey = 0x0b1b;
constexpr std::size_t kMaxChanges = 8192;
constexpr std::uint8_t kMtu2048 = 4, kRate2500 = 2, kRate10000 = 3, kPacketLife = 18, kExactly = 2;

}  // namespace

Mgid broadcast_mgid(std::uint16_t key) {
  Mgid mgid{0xff, 0x10 | kLinkLocalScope, 0x40, 0x1b};
  write_be(mgid, 4, 2, key);
  write_be(mgid, 12, 4, 0xffffffff);
  return mgid;
}

const MulticastBook::Group* MulticastBook::find(const Mgid& mgid) const {
  const auto found = groups_.find(mgid);
  return found == groups_.end() ? nullptr : &found->second;
}

const MulticastBook::Group* MulticastBook::create(const MulticastRecord& terms) {
  if (groups_.size() >= bounds_.groups) return nullptr;
  unsigned lid = kFirstMulticastLid;
  for (const Lid taken : lids_) {
    if (taken != lid) break;
    ++lid;
  }
  if (lid > last_lid_) return nullptr;
  const auto [at, is_new] = groups_.try_emplace(terms.mgid);
  if (!is_new) return nullptr;
  lids_.insert(static_cast<Lid>(lid));
  at->second.terms = terms;
  at->second.terms.lid = static_cast<Lid>(lid);
  ++revision_;
  return &at->second;
}

Mgid MulticastBook::own_mgid(std::uint8_t scope, std::uint64_t gid_prefix) {
  Mgid mgid{0xff, static_cast<std::uint8_t>(0x10U | (scope != 0 ? scope : kLinkLocalScope)), 0xa0, 0x1b};
  write_be(mgid, 4, 8, gid_prefix);
  do {
    write_be(mgid, 12, 4, ++own_mgids_);
  } while (groups_.contains(mgid));
  return mgid;
}

bool MulticastBook::join(const Mgid& mgid, Guid port, std::uint8_t join_state, bool by_proxy) {
  Group& group = groups_.at(mgid);
  auto found = group.members.find(port);
  if (found == group.members.end()) {
    std::size_t& count = groups_of_[port];
    if (memberships_ >= bounds_.memberships || count >= bounds_.groups_of_port) {
      if (count == 0) groups_of_.erase(port);
      return false;
    }
    found = group.members.try_emplace(port).first;
    ++count;
    ++memberships_;
  }
  Member& member = found->second;
  const bool kept = (member.join_state & JoinState::kKeeps) != 0;
  const std::uint8_t before = member.join_state;
  member.join_state |= join_state;
  member.by_proxy = by_proxy;
  if (!kept && (member.join_state & JoinState::kKeeps) != 0 && ++group.keepers == 1) note_change(group, true);
  if (member.join_state != before) ++revision_;
  return true;
}

void MulticastBook::leave(const Mgid& mgid, Guid port, std::uint8_t join_state) {
  const auto at = groups_.find(mgid);
  if (at == groups_.end()) return;
  Group& group = at->second;
  const auto member = group.members.find(port);
  if (member == group.members.end()) return;
  const bool kept = (member->second.join_state & JoinState::kKeeps) != 0;
  member->second.join_state = static_cast<std::uint8_t>(member->second.join_state & ~join_state);
  ++revision_;
  if (kept && (member->second.join_state & JoinState::kKeeps) == 0 && --group.keepers == 0) note_change(group, false);
  if (member->second.join_state == 0) remove(at, member);
  end_unkept(mgid);
}

void MulticastBook::end_unkept(const Mgid& mgid) {
  const auto at = groups_.find(mgid);
  if (at != groups_.end() && at->second.keepers == 0 && !at->second.is_kept) end_group(at);
}

void MulticastBook::remove(Groups::iterator group, std::map<Guid, Member>::iterator member) {
  const auto count = groups_of_.find(member->first);
  if (--count->second == 0) groups_of_.erase(count);
  if ((member->second.join_state & JoinState::kKeeps) != 0 && --group->second.keepers == 0) {
    note_change(group->second, false);
  }
  group->second.members.erase(member);
  --memberships_;
  ++revision_;
}

MulticastBook::Groups::iterator MulticastBook::end_group(Groups::iterator at) {
  while (!at->second.members.empty()) remove(at, at->second.members.begin());
  lids_.erase(at->second.terms.lid);
  ++revision_;
  return groups_.erase(at);
}

void MulticastBook::note_change(const Group& group, bool is_created) {
  if (changes_.size() < kMaxChanges) changes_.push_back({group.terms.mgid, group.terms.key, is_created});
}

void MulticastBook::follow(const AdministeredSubnet& subnet) {
  unsigned capacity = 0;
  for (const AdministeredSubnet::Node& node : subnet.nodes()) {
    if (!node.is_switch()) continue;
    const unsigned has = node.switch_info.multicast_capacity;
    capacity = capacity == 0 ? has : std::min(capacity, has);
  }
  last_lid_ = static_cast<Lid>(std::min<unsigned>(kFirstMulticastLid + capacity - 1, kLastMulticastLid));
  for (auto at = groups_.begin(); at != groups_.end();) {
    Group& group = at->second;
    for (auto member = group.members.begin(); member != group.members.end();) {
      const auto next = std::next(member);
      if (!subnet.is_attached(member->first)) remove(at, member);
      member = next;
    }
    group.is_kept = false;  // until its partition says so
    ++at;
  }
  keep_broadcast(kDefaultPartition, 0, kRate10000);
  for (const PartitionService& partition : subnet.partitions()) {
    const bool is_slow = partition.limit && *partition.limit < nominal_rate(kRate10000);
    keep_broadcast(partition.key | kFullMember, partition.first_level, is_slow ? kRate2500 : kRate10000);
  }
  for (auto at = groups_.begin(); at != groups_.end();) {
    at = at->second.keepers == 0 && !at->second.is_kept ? end_group(at) : std::next(at);
  }
}

// One that exists keeps the terms that its members know.
void MulticastBook::keep_broadcast(std::uint16_t key, std::uint8_t level, std::uint8_t rate) {
  const Mgid mgid = broadcast_mgid(key);
  const auto found = groups_.find(mgid);
  if (found == groups_.end()) {
    const MulticastRecord terms{.mgid = mgid,
                                .port = {},
                                .queue_key = kBroadcastQueueKey,
                                .mtu_selector = kExactly,
                                .mtu = kMtu2048,
                                .key = key,
                                .rate_selector = kExactly,
                                .rate = rate,
                                .life_selector = kExactly,
                                .life = kPacketLife,
                                .level = level,
                                .scope = kLinkLocalScope};
    if (create(terms) != nullptr) groups_.at(mgid).is_kept = true;
    return;
  }
  found->second.is_kept = true;
  if (found->second.members.empty()) {
    found->second.terms.level = level;
    found->second.terms.rate = rate;
  }
}

void MulticastBook::clear() {
  groups_.clear();
  lids_.clear();
  groups_of_.clear();
  memberships_ = 0;
  changes_.clear();
  ++revision_;
}

MulticastMembersPtr MulticastBook::members() const {
  auto all = std::make_shared<std::vector<MulticastMembers>>();
  for (const auto& [mgid, group] : groups_) {
    MulticastMembers& one = all->emplace_back(
        MulticastMembers{.lid = group.terms.lid, .members = {}, .key = group.terms.key, .level = group.terms.level});
    for (const auto& [port, member] : group.members) {
      one.members.push_back({port, (member.join_state & JoinState::kReceives) != 0});
    }
  }
  std::ranges::sort(*all, {}, &MulticastMembers::lid);
  return all;
}

}  // namespace railweave::fabric::infiniband
