#include "scheduler/admission/seat_search.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace railweave::scheduler {
namespace {

constexpr std::uint64_t kShareOfStarts = 4;
constexpr std::size_t kMaxStarts = 24, kMaxMoves = 64, kMaxSteps = 200;
constexpr std::uint64_t kWorkOfOne = 16;      // of looking at a set of seats, beside its ports
constexpr std::uint64_t kEntriesForOne = 16;  // of tables compared, as much work as a port
constexpr std::int64_t kCutOff = INT64_MAX / 4;

std::int64_t cost_of(const SeatExcess& excess, std::int64_t rate_mbps) {
  if (excess.cut_off) return kCutOff;
  return excess.mbps + static_cast<std::int64_t>(excess.no_lane) * std::max<std::int64_t>(1, rate_mbps);
}

}  // namespace

SeatSearch::SeatSearch(std::span<const Seat> seats, SeatLoads loads, SearchWork& work)
    : seats_(seats),
      loads_(std::move(loads)),
      work_(work),
      classes_(seat_classes(seats, loads_.view(), loads_.tables(), loads_.ledger())),
      counts_(seats, classes_, loads_) {
  for (const Seat& seat : seats) most_ports_ += seat.ports.size();
  if (counts_.known()) most_ports_ = counts_.seats() * seats.front().ports.size();
  (void)work_.spend(std::min(work_.left, classes_.entries / kEntriesForOne));
}

SeatSearch::Verdict SeatSearch::run(const Offer& offer) {
  std::uint64_t units = 0;
  for (const Seat& seat : seats_) units += seat.units;
  if (units < loads_.demand().units) {
    proof_ = Proof::too_few;
    return Verdict::none;
  }
  if (!counts_.any()) {
    proof_ = Proof::counts;
    return Verdict::none;
  }
  // Most of what fits is found from a good start; most of the work is for the proof.
  const std::uint64_t all = work_.left, for_starts = all / kShareOfStarts;
  work_.left = for_starts;
  const bool found = improve_starts(offer);
  work_.left += all - for_starts;
  if (found) return Verdict::found;
  if (offers_ >= loads_.demand().most_offers) return Verdict::gave_up;
  switch (enumerate(offer)) {
    case End::found:
      return Verdict::found;
    case End::exhausted:
      proof_ = Proof::all;
      return Verdict::none;
    case End::gave_up:
      break;
  }
  return Verdict::gave_up;
}

std::vector<std::uint32_t> SeatSearch::seats_of(const Counts& counts) const {
  std::vector<std::uint32_t> list;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const auto& members = classes_.classes[c].seats;
    list.insert(list.end(), members.begin(), members.begin() + counts[c]);
  }
  return list;
}

std::uint64_t SeatSearch::units_of(const Counts& counts) const {
  std::uint64_t units = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    units += std::uint64_t{counts[c]} * seats_[classes_.classes[c].seats.front()].units;
  }
  return units;
}

std::optional<SeatExcess> SeatSearch::excess(const Counts& counts, bool spare_a_link) {
  ports_.clear();
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const auto& members = classes_.classes[c].seats;
    for (std::size_t i = 0; i < counts[c]; ++i) {
      const auto& ports = seats_[members[i]].ports;
      ports_.insert(ports_.end(), ports.begin(), ports.end());
    }
  }
  std::ranges::sort(ports_);
  ports_.erase(std::unique(ports_.begin(), ports_.end()), ports_.end());
  if (!work_.spend(ports_.size() + kWorkOfOne)) return std::nullopt;
  ++looked_at_;
  const bool is_whole = units_of(counts) >= loads_.demand().units;
  return loads_.excess(ports_, is_whole ? ports_.size() : most_ports_, spare_a_link);
}

bool SeatSearch::offer(const Counts& counts, const Offer& offer) {
  if (offers_ >= loads_.demand().most_offers || std::ranges::find(offered_, counts) != offered_.end()) return false;
  offered_.push_back(counts);
  if (offer(seats_of(counts))) return true;
  ++offers_;
  return false;
}

// --- from some choices to better ones

bool SeatSearch::improve_starts(const Offer& offer) {
  for (const bool spare_a_link : {true, false}) {
    if (spare_a_link && !loads_.demand().spare_a_link) continue;
    for (Counts& counts : starts()) {
      if (improve(std::move(counts), spare_a_link, offer)) return true;
      if (work_.left == 0 || offers_ >= loads_.demand().most_offers) return false;
    }
  }
  return false;
}

// In few groups, the largest first; then from each group on.
std::vector<SeatSearch::Counts> SeatSearch::starts() {
  std::vector<std::size_t> members(classes_.groups(), 0);
  for (const SeatClass& one : classes_.classes) members[one.group] += one.seats.size();
  std::vector<std::uint32_t> order(classes_.groups());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t group) { return members[group]; });
  std::vector<Counts> list;
  const auto add = [&](const std::vector<std::uint32_t>& groups) {
    Counts counts = start_of(groups);
    if (!counts.empty() && std::ranges::find(list, counts) == list.end()) list.push_back(std::move(counts));
  };
  add(order);
  add({order.rbegin(), order.rend()});
  for (std::size_t i = 1; i < order.size() && list.size() < kMaxStarts / 2; ++i) {
    std::vector<std::uint32_t> turned(order);
    std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(i), turned.end());
    add(turned);
  }
  for (std::size_t i = 0; i < kMaxStarts / 2; ++i) {
    std::ranges::shuffle(order, random_);
    add(order);
  }
  return list;
}

SeatSearch::Counts SeatSearch::start_of(std::span<const std::uint32_t> order) const {
  if (counts_.known()) {
    const auto by_group = counts_.in_order(order);
    return by_group ? spread_over_classes(*by_group) : Counts();
  }
  Counts counts(classes_.classes.size(), 0);
  std::uint64_t units = 0;
  for (const std::uint32_t group : order) {
    for (std::size_t c = classes_.first[group]; c < classes_.first[group + 1]; ++c) {
      for (const auto seat : classes_.classes[c].seats) {
        if (units >= loads_.demand().units) return counts;
        ++counts[c];
        units += seats_[seat].units;
      }
    }
  }
  return counts;
}

// The same number of each class of a group, as far as it goes: its classes are those of different routes.
SeatSearch::Counts SeatSearch::spread_over_classes(const std::vector<std::size_t>& by_group) const {
  Counts counts(classes_.classes.size(), 0);
  std::vector<std::size_t> left(by_group);
  for (bool more = true; more;) {
    more = false;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      const SeatClass& one = classes_.classes[c];
      if (left[one.group] == 0 || counts[c] == one.seats.size()) continue;
      ++counts[c];
      --left[one.group];
      more = true;
    }
  }
  return counts;
}

bool SeatSearch::improve(Counts counts, bool spare_a_link, const Offer& to) {
  const std::int64_t rate = loads_.rate_mbps(most_ports_);
  const auto first = excess(counts, spare_a_link);
  if (!first) return false;
  std::int64_t cost = cost_of(*first, rate);
  for (std::size_t step = 0; step < kMaxSteps && cost > 0; ++step) {
    if (!improve_once(counts, cost, spare_a_link)) return false;
  }
  return cost == 0 && offer(counts, to);
}

// Exchanges of a seat of one class for one of another, in random order; of many a few.
std::vector<std::pair<std::uint32_t, std::uint32_t>> SeatSearch::moves_of(const Counts& counts) {
  std::vector<std::uint32_t> used, free;
  for (std::uint32_t c = 0; c < counts.size(); ++c) {
    if (counts[c] > 0) used.push_back(c);
    if (counts[c] < classes_.classes[c].seats.size()) free.push_back(c);
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> moves;
  if (used.size() * free.size() > kMaxMoves * 16) {
    for (std::size_t i = 0; i < kMaxMoves; ++i) {
      const auto out = used[random_() % used.size()], in = free[random_() % free.size()];
      if (in != out) moves.emplace_back(out, in);
    }
    return moves;
  }
  for (const auto out : used) {
    for (const auto in : free) {
      if (in != out) moves.emplace_back(out, in);
    }
  }
  std::ranges::shuffle(moves, random_);
  if (moves.size() > kMaxMoves) moves.resize(kMaxMoves);
  return moves;
}

// The first exchange of a seat for one of another class that lowers the cost.
bool SeatSearch::improve_once(Counts& counts, std::int64_t& cost, bool spare_a_link) {
  for (const auto& [out, in] : moves_of(counts)) {
    Counts moved = counts;
    --moved[out];
    ++moved[in];
    if (!complete(moved, in)) continue;
    const auto excess_of_moved = excess(moved, spare_a_link);
    if (!excess_of_moved) return false;
    const std::int64_t moved_cost = cost_of(*excess_of_moved, loads_.rate_mbps(most_ports_));
    if (moved_cost >= cost) continue;
    counts = std::move(moved);
    cost = moved_cost;
    return true;
  }
  return false;
}

// As many seats as the job needs, and none more; but: the class that stays as it is.
bool SeatSearch::complete(Counts& counts, std::size_t but) const {
  const std::uint64_t needed = loads_.demand().units;
  std::uint64_t units = units_of(counts);
  for (std::size_t c = 0; c < counts.size() && units < needed; ++c) {
    while (c != but && units < needed && counts[c] < classes_.classes[c].seats.size()) {
      ++counts[c];
      units += seats_[classes_.classes[c].seats.front()].units;
    }
  }
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const std::uint32_t own = seats_[classes_.classes[c].seats.front()].units;
    while (c != but && counts[c] > 0 && units - own >= needed) {
      --counts[c];
      units -= own;
    }
  }
  return units >= needed;
}

// --- every choice

SeatSearch::End SeatSearch::enumerate(const Offer& to) {
  constexpr std::size_t kMaxUncompared = 64;  // seats
  const std::size_t classes = classes_.classes.size();
  if (!classes_.compared && classes > kMaxUncompared) return End::gave_up;
  units_from_.assign(classes + 1, 0);
  for (std::size_t c = classes; c-- > 0;) {
    const auto& members = classes_.classes[c].seats;
    units_from_[c] = units_from_[c + 1] + members.size() * seats_[members.front()].units;
  }
  Counts counts(classes, 0);
  return enumerate_from(0, counts, 0, 0, 0, to);
}

// Chooses of class `next` and those after it. units, seats: chosen before; in_group: of the group of class `next`.
SeatSearch::End SeatSearch::enumerate_from(std::size_t next, Counts& counts, std::uint64_t units, std::size_t in_group,
                                           std::size_t seats, const Offer& to) {
  const std::uint64_t needed = loads_.demand().units;
  if (units >= needed) {
    if (counts_.known() && next > 0) {
      const std::size_t group = classes_.classes[next - 1].group;
      if (!counts_.allowed(group, in_group)) return End::exhausted;
    }
    if (offer(counts, to)) return End::found;
    return offers_ >= loads_.demand().most_offers ? End::gave_up : End::exhausted;
  }
  if (next == counts.size()) return End::exhausted;
  const SeatClass& one = classes_.classes[next];
  if (next > 0 && classes_.classes[next - 1].group != one.group) {
    if (counts_.known()) {
      if (!counts_.allowed(classes_.classes[next - 1].group, in_group)) return End::exhausted;
      if (!counts_.possible(one.group, counts_.seats() - seats)) return End::exhausted;
    }
    in_group = 0;
  }
  if (units + units_from_[next] < needed) return End::exhausted;
  const std::uint32_t own = seats_[one.seats.front()].units;
  const auto most =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(one.seats.size(), (needed - units + own - 1) / own));
  // From few to many: where a number does not fit, a larger one does not either.
  std::uint32_t fits = 0;
  for (; fits < most; ++fits) {
    counts[next] = fits + 1;
    const auto found = excess(counts, false);
    if (!found) {
      counts[next] = 0;
      return End::gave_up;
    }
    if (!found->fits()) break;
  }
  for (std::uint32_t taken = fits + 1; taken-- > 0;) {
    counts[next] = taken;
    const End end =
        enumerate_from(next + 1, counts, units + std::uint64_t{taken} * own, in_group + taken, seats + taken, to);
    if (end != End::exhausted) {
      if (end != End::found) counts[next] = 0;
      return end;
    }
  }
  counts[next] = 0;
  return End::exhausted;
}

}  // namespace railweave::scheduler
