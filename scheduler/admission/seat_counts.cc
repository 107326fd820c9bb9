#include "scheduler/admission/seat_counts.h"

#include <algorithm>
#include <map>
#include <set>

namespace railweave::scheduler {
namespace {

using fabric::PortId;

constexpr std::size_t kMaxSums = 4'000'000;  // groups x seats

// What a switch's links to other switches have left, out of it and into it; the smaller one.
std::int64_t left_around(const SeatLoads& loads, fabric::SwitchId sw) {
  const auto& t = loads.view().topology();
  std::int64_t out = 0, in = 0;
  for (const PortId port : t.ports(sw)) {
    const auto link = t.link(port);
    if (!link.valid() || !t.joins_switches(link) || !loads.view().alive(link)) continue;
    if (t.switch_of(t.peer(port)) == sw) continue;
    out += std::max<std::int64_t>(0, loads.left_mbps(fabric::directed_link(t, port)));
    in += std::max<std::int64_t>(0, loads.left_mbps(fabric::directed_link(t, t.peer(port))));
  }
  return std::min(out, in);
}

// The sums of a number of the rest and one that the group allows.
NumberSet with_group(const NumberSet& rest, const std::vector<std::uint8_t>& allowed, std::size_t end) {
  NumberSet sums(end);
  for (std::size_t own = 0; own < allowed.size(); ++own) {
    if (allowed[own] != 0) sums.insert_sums(rest, own);
  }
  return sums;
}

}  // namespace

void NumberSet::insert_sums(const NumberSet& other, std::size_t more) {
  const std::size_t words = more / 64, bits = more % 64;
  for (std::size_t i = words_.size(); i-- > words;) {
    std::uint64_t word = i - words < other.words_.size() ? other.words_[i - words] << bits : 0;
    if (bits != 0 && i > words && i - words - 1 < other.words_.size())
      word |= other.words_[i - words - 1] >> (64 - bits);
    words_[i] |= word;
  }
}

SeatCounts::SeatCounts(std::span<const Seat> seats, const SeatClasses& classes, const SeatLoads& loads) {
  if (seats.empty()) return;
  const auto& scope = loads.tables().scope();
  std::set<fabric::PlaneId> planes;
  for (const Seat& seat : seats) {
    if (seat.units != seats.front().units || seat.ports.size() != seats.front().ports.size()) return;
    for (const PortId port : seat.ports) {
      const auto id = scope.find(port);
      if (!id) return;
      planes.insert(scope.plane_of(id));
    }
  }
  needed_ = (loads.demand().units + seats.front().units - 1) / seats.front().units;
  if (planes.size() != 1 || needed_ * classes.groups() > kMaxSums) return;
  const std::size_t all_ports = needed_ * seats.front().ports.size();
  const std::int64_t each = loads.reserved_mbps(all_ports);

  std::vector<std::size_t> members(classes.groups(), 0);
  std::vector<const Seat*> example(classes.groups(), nullptr);
  for (const SeatClass& one : classes.classes) {
    members[one.group] += one.seats.size();
    example[one.group] = &seats[one.seats.front()];
  }
  // The ports that a seat of the group has on each switch; a switch of several groups bounds none of them alone.
  std::vector<std::map<fabric::SwitchId, std::size_t>> homes(classes.groups());
  std::map<fabric::SwitchId, std::size_t> groups_of;
  for (std::uint32_t group = 0; group < classes.groups(); ++group) {
    for (const PortId port : example[group]->ports) ++homes[group][scope.destination(scope.find(port)).home];
    for (const auto& [sw, ports] : homes[group]) ++groups_of[sw];
  }
  for (std::uint32_t group = 0; group < classes.groups(); ++group) {
    auto& allowed = allowed_.emplace_back(std::min(members[group], needed_) + 1, std::uint8_t{1});
    for (const auto& [sw, ports] : homes[group]) {
      if (groups_of[sw] > 1) continue;
      const std::int64_t left = left_around(loads, sw);
      for (std::size_t own = 1; own < allowed.size(); ++own) {
        const std::size_t inside = own * ports;
        const auto crossing = static_cast<std::int64_t>(std::min(inside, all_ports - inside));
        if (crossing * each > left) allowed[own] = 0;
      }
    }
  }
  suffix_.assign(classes.groups() + 1, NumberSet(needed_ + 1));
  suffix_.back().insert(0);
  for (std::size_t group = classes.groups(); group-- > 0;) {
    suffix_[group] = with_group(suffix_[group + 1], allowed_[group], needed_ + 1);
  }
  known_ = true;
}

std::optional<std::vector<std::size_t>> SeatCounts::in_order(std::span<const std::uint32_t> order) const {
  std::vector<NumberSet> rest(order.size() + 1, NumberSet(needed_ + 1));
  rest.back().insert(0);
  for (std::size_t i = order.size(); i-- > 0;) rest[i] = with_group(rest[i + 1], allowed_[order[i]], needed_ + 1);
  if (!rest[0].contains(needed_)) return std::nullopt;
  std::vector<std::size_t> counts(allowed_.size(), 0);
  std::size_t left = needed_;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& allowed = allowed_[order[i]];
    for (std::size_t own = std::min(left, allowed.size() - 1) + 1; own-- > 0;) {
      if (allowed[own] == 0 || !rest[i + 1].contains(left - own)) continue;
      counts[order[i]] = own;
      left -= own;
      break;
    }
  }
  return counts;
}

}  // namespace railweave::scheduler
