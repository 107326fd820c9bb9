#include "fabric/routing/levels/turn_counts.h"

#include "fabric/base/check.h"

namespace railweave::fabric {

TurnCounts::TurnCounts(const Plane& plane, unsigned lanes) : plane_(&plane), lanes_(lanes) {
  std::size_t all = 0;
  for (const Arc& arc : plane.arcs) {
    const std::size_t exits = std::size_t{plane.first_arc[arc.to + 1] - plane.first_arc[arc.to]} * lanes;
    for (unsigned lane = 0; lane < lanes; ++lane, all += exits) first_.push_back(all);
  }
  first_.push_back(all);
  counts_.resize(all, 0);
}

std::size_t TurnCounts::place(std::uint32_t from, std::uint32_t to) const {
  const std::uint32_t at = plane_->arcs[from / lanes_].to;
  return first_[from] + std::size_t{to / lanes_ - plane_->first_arc[at]} * lanes_ + to % lanes_;
}

void TurnCounts::count(std::span<const std::uint32_t> channels, int by) {
  for (std::size_t i = 1; i < channels.size(); ++i) {
    std::uint32_t& paths = counts_[place(channels[i - 1], channels[i])];
    RAILWEAVE_CHECK(by > 0 || paths > 0, "only paths that were added are removed");
    paths = by > 0 ? paths + 1 : paths - 1;
  }
}

std::vector<std::vector<std::uint32_t>> TurnCounts::next() const {
  std::vector<std::vector<std::uint32_t>> next(first_.size() - 1);
  for (std::uint32_t from = 0; from < next.size(); ++from) {
    const std::uint32_t first_out = plane_->first_arc[plane_->arcs[from / lanes_].to] * lanes_;
    for (std::size_t i = first_[from]; i < first_[from + 1]; ++i) {
      if (counts_[i] != 0) next[from].push_back(first_out + static_cast<std::uint32_t>(i - first_[from]));
    }
  }
  return next;
}

bool TurnCounts::has_circle() const {
  const auto after = next();
  std::vector<std::uint32_t> waiting(after.size(), 0), free;
  for (const auto& of : after) {
    for (const std::uint32_t to : of) ++waiting[to];
  }
  for (std::uint32_t channel = 0; channel < after.size(); ++channel) {
    if (waiting[channel] == 0) free.push_back(channel);
  }
  std::size_t passed = 0;
  for (; !free.empty(); ++passed) {
    const std::uint32_t channel = free.back();
    free.pop_back();
    for (const std::uint32_t to : after[channel]) {
      if (--waiting[to] == 0) free.push_back(to);
    }
  }
  return passed != after.size();
}

}  // namespace railweave::fabric
