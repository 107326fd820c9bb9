#include "fabric/routing/audit/channel_graph.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace railweave::fabric {

ChannelGraph::ChannelGraph(const Plane& plane, unsigned lanes) : lanes_(lanes) {
  std::size_t most = 0;
  for (std::size_t s = 0; s < plane.switch_count(); ++s) most = std::max(most, plane.arcs_of(s).size());
  words_ = (most * lanes + 63) / 64;
  first_out_.reserve(plane.arcs.size());
  for (const Arc& arc : plane.arcs) first_out_.push_back(plane.first_arc[arc.to]);
  bits_.assign(plane.arcs.size() * lanes * words_, 0);
}

void ChannelGraph::add_all(const ChannelGraph& other) {
  for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
}

template <class Visit>
void ChannelGraph::for_each_next(std::size_t channel, Visit visit) const {
  const std::size_t first = first_out_[channel / lanes_];
  for (std::size_t w = 0; w < words_; ++w) {
    for (std::uint64_t bits = bits_[channel * words_ + w]; bits != 0; bits &= bits - 1) {
      const std::size_t bit = w * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      visit(static_cast<std::uint32_t>((first + bit / lanes_) * lanes_ + bit % lanes_));
    }
  }
}

bool ChannelGraph::waits_for(std::uint32_t from, std::uint32_t to, Search& search) const {
  search.seen_in.resize(first_out_.size() * lanes_, 0);
  ++search.round;
  search.open.assign(1, from);
  search.seen_in[from] = search.round;
  while (!search.open.empty()) {
    const std::uint32_t channel = search.open.back();
    search.open.pop_back();
    if (channel == to || search.budget == 0) return true;
    --search.budget;
    for_each_next(channel, [&](std::uint32_t next) {
      if (std::exchange(search.seen_in[next], search.round) != search.round) search.open.push_back(next);
    });
  }
  return false;
}

ChannelGraph::Circles ChannelGraph::circles() const {
  const auto waiting = waiting_counts();
  if (std::ranges::all_of(waiting, [](std::uint32_t n) { return n == 0; })) return {};
  return {lanes_on_circles(waiting), one_circle(waiting)};
}

// By channel: the number of channels that wait for it, once those that no other waits for are removed. What remains is
// on circles or behind them.
std::vector<std::uint32_t> ChannelGraph::waiting_counts() const {
  const std::size_t channels = first_out_.size() * lanes_;
  std::vector<std::uint32_t> waiting(channels, 0);
  for (std::size_t c = 0; c < channels; ++c) for_each_next(c, [&](std::uint32_t next) { ++waiting[next]; });
  std::vector<std::uint32_t> free;
  for (std::uint32_t c = 0; c < channels; ++c) {
    if (waiting[c] == 0) free.push_back(c);
  }
  for (std::size_t i = 0; i < free.size(); ++i) {
    for_each_next(free[i], [&](std::uint32_t next) {
      if (--waiting[next] == 0) free.push_back(next);
    });
  }
  return waiting;
}

// Another remaining channel waits for every remaining one, so that walking from each to its waiter ends in a circle.
std::vector<std::uint32_t> ChannelGraph::one_circle(const std::vector<std::uint32_t>& waiting) const {
  const std::size_t channels = waiting.size();
  std::vector<std::uint32_t> waiter(channels, UINT32_MAX);
  for (std::uint32_t c = 0; c < channels; ++c) {
    if (waiting[c] == 0) continue;
    for_each_next(c, [&](std::uint32_t next) {
      if (waiter[next] == UINT32_MAX) waiter[next] = c;
    });
  }
  const auto first = std::ranges::find_if(waiting, [](std::uint32_t n) { return n > 0; });
  auto at = static_cast<std::uint32_t>(first - waiting.begin());
  std::vector<bool> seen(channels, false);
  for (; !seen[at]; at = waiter[at]) seen[at] = true;
  const std::uint32_t start = at;
  std::vector<std::uint32_t> circle;
  do {
    circle.push_back(at);
    at = waiter[at];
  } while (at != start);
  std::ranges::reverse(circle);
  return circle;
}

// The lanes of the channels that remain once those that wait for no other are removed as well.
std::vector<unsigned> ChannelGraph::lanes_on_circles(const std::vector<std::uint32_t>& waiting) const {
  const std::size_t channels = waiting.size();
  std::vector<std::uint32_t> waits_for(channels, 0);
  std::vector<std::vector<std::uint32_t>> waiters(channels);
  for (std::uint32_t c = 0; c < channels; ++c) {
    if (waiting[c] == 0) continue;
    for_each_next(c, [&](std::uint32_t next) {
      if (waiting[next] == 0) return;
      ++waits_for[c];
      waiters[next].push_back(c);
    });
  }
  std::vector<std::uint32_t> ends;
  for (std::uint32_t c = 0; c < channels; ++c) {
    if (waiting[c] > 0 && waits_for[c] == 0) ends.push_back(c);
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (const std::uint32_t c : waiters[ends[i]]) {
      if (--waits_for[c] == 0) ends.push_back(c);
    }
  }
  std::vector<bool> on(lanes_, false);
  for (std::uint32_t c = 0; c < channels; ++c) {
    if (waiting[c] > 0 && waits_for[c] > 0) on[c % lanes_] = true;
  }
  std::vector<unsigned> lanes;
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    if (on[lane]) lanes.push_back(lane);
  }
  return lanes;
}

}  // namespace railweave::fabric
