#include "fabric/routing/audit/plane_audit.h"

#include <algorithm>
#include <bit>

#include "fabric/routing/audit/column_block.h"

namespace railweave::fabric {

void LiveDistances::flood(std::uint32_t to, bool over_drained, std::vector<std::uint16_t>& distance) {
  distance.assign(plane_.switch_count(), kFar);
  distance[to] = 0;
  queue_.assign(1, to);
  for (std::size_t next = 0; next < queue_.size(); ++next) {
    const std::uint32_t s = queue_[next];
    for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
      const Arc& arc = plane_.arcs[a];
      if (distance[arc.to] != kFar || ports_.arc(s, arc.port) == PortMap::kDead) continue;
      if (!over_drained && ports_.arc_drained[a] != 0) {
        // A route may begin or end at a drained switch, but not pass it.
        const bool here = ports_.switch_drained[s] != 0, there = ports_.switch_drained[arc.to] != 0;
        if (ports_.link_drained[a] != 0 || (here && (there || s != to))) continue;
      }
      distance[arc.to] = static_cast<std::uint16_t>(std::min<std::uint32_t>(distance[s] + 1U, kFar - 1U));
      queue_.push_back(arc.to);
    }
  }
}

void LiveDistances::compute(std::uint32_t to) {
  flood(to, false, undrained_);
  if (queue_.size() < plane_.switch_count()) {
    flood(to, true, live_);
  } else {
    live_.clear();
  }
}

PlaneAudit::PlaneAudit(const Plane& plane, const PortMap& ports, const PlaneTables& tables, const PlaneLanes& lanes,
                       std::size_t max_examples)
    : plane_(plane),
      ports_(ports),
      tables_(tables),
      lanes_(lanes),
      max_examples_(max_examples),
      channels_(std::make_unique<ChannelGraph>(plane, std::max<unsigned>(1, lanes.lanes))),
      walk_(plane, ports),
      distances_(plane, ports) {
  tally_.load.assign(plane.arcs.size(), 0);
  tally_.host_load.assign(plane.arcs.size(), 0);
}

void PlaneAudit::add(const PlaneAudit& other) {
  const PlaneTally& more = other.tally_;
  tally_.pairs += more.pairs;
  tally_.unreachable += more.unreachable;
  tally_.cut_off += more.cut_off;
  tally_.unmanaged += more.unmanaged;
  tally_.looping += more.looping;
  tally_.nonminimal += more.nonminimal;
  tally_.drained_entries += more.drained_entries;
  tally_.longest = std::max(tally_.longest, more.longest);
  for (const UnreachedPair& pair : more.unreached) {
    if (tally_.unreached.size() < max_examples_) tally_.unreached.push_back(pair);
  }
  for (std::size_t a = 0; a < tally_.load.size(); ++a) {
    tally_.load[a] += more.load[a];
    tally_.host_load[a] += more.host_load[a];
  }
  channels_->add_all(*other.channels_);
}

void PlaneAudit::run(std::uint32_t first, std::uint32_t last) {
  ColumnBlock block(tables_);
  for (std::size_t begin = first; begin < last; begin += ColumnBlock::kColumns) {
    const std::size_t count = std::min<std::size_t>(ColumnBlock::kColumns, last - begin);
    block.read(begin, count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto d = static_cast<std::uint32_t>(begin + i);
      const Home& home = plane_.homes[plane_.destination_home[d]];
      const auto segments = plane_.segments_of(home);
      const auto segment = std::ranges::upper_bound(segments, d, {}, &Segment::first) - 1;
      walk_.walk(d, block.column(i));
      this->count(d, *segment);
    }
  }
}

void PlaneAudit::count(std::uint32_t destination, const Segment& segment) {
  const std::uint32_t home = plane_.homes[plane_.destination_home[destination]].sw;
  if (distances_to_ != home) {
    distances_.compute(home);
    distances_to_ = home;
  }
  // An end port does not send to itself.
  const bool is_end_port = segment.kind != DestinationKind::switch_management;
  tally_.pairs += ports_.all_sources - (is_end_port ? 1 : 0);
  count_lost(destination);
  count_flows(segment);
  if (lanes_.arc_class.empty()) {
    add_turns(destination);
  } else {
    add_turns_by_class(destination);
  }
}

void PlaneAudit::count_lost(std::uint32_t destination) {
  const bool alive = ports_.destination_alive[destination] != 0;
  const std::uint32_t home = plane_.homes[plane_.destination_home[destination]].sw;
  const bool is_end_port = plane_.destination_port[destination] != kPortZero;
  const auto add = [&](std::uint32_t from, std::uint32_t at, std::uint64_t sources, UnreachedPair::Reason reason) {
    if (sources == 0) return;
    tally_.unreachable += sources;
    if (reason <= UnreachedPair::Reason::drained) tally_.cut_off += sources;
    if (reason == UnreachedPair::Reason::loop) tally_.looping += sources;
    if (tally_.unreached.size() >= max_examples_) return;
    tally_.unreached.push_back({plane_.switches[from], plane_.destination(destination),
                                at == Plane::kNone ? SwitchId() : plane_.switches[at], sources, reason});
  };
  for (const Home& from : plane_.homes) {
    const std::uint32_t s = from.sw;
    const std::uint64_t self = s == home && is_end_port ? 1 : 0;  // counted as a dead source if it is not alive
    if (!alive) {
      add(s, Plane::kNone, ports_.sources[s] + ports_.dead_sources[s] - self,
          UnreachedPair::Reason::destination_cut_off);
      continue;
    }
    add(s, Plane::kNone, ports_.dead_sources[s], UnreachedPair::Reason::source_cut_off);
    if (walk_.depth(s) != ColumnWalk::kLost || ports_.sources[s] == self) continue;
    const std::uint64_t sources = ports_.sources[s] - self;
    if (distances_.live(s) == LiveDistances::kFar) {
      add(s, Plane::kNone, sources, UnreachedPair::Reason::disconnected);
    } else if (distances_.undrained(s) == LiveDistances::kFar) {
      add(s, Plane::kNone, sources, UnreachedPair::Reason::drained);
    } else {
      const auto loss = walk_.loss(s);
      if (!is_end_port && loss.reason == UnreachedPair::Reason::no_entry) {
        tally_.unmanaged += sources;
      } else {
        add(s, loss.at, sources, loss.reason);
      }
    }
  }
}

void PlaneAudit::count_flows(const Segment& segment) {
  const bool counts = segment.lid_offset == 0 && segment.kind != DestinationKind::switch_management;
  const bool to_host = segment.kind == DestinationKind::host;
  flow_.assign(ports_.sources.begin(), ports_.sources.end());
  if (to_host) host_flow_.assign(ports_.host_sources.begin(), ports_.host_sources.end());
  for (const std::uint32_t s : walk_.by_depth()) {
    const std::uint16_t depth = walk_.depth(s);
    if (depth == 0) break;  // the destination's own switch
    if (ports_.sources[s] > 0) {
      tally_.longest = std::max<unsigned>(tally_.longest, depth);
      if (depth > distances_.undrained(s)) tally_.nonminimal += ports_.sources[s];
    }
    if (flow_[s] == 0) continue;
    const std::uint32_t arc = walk_.arc(s), to = plane_.arcs[arc].to;
    flow_[to] += flow_[s];
    // Traffic that begins or ends on a drained switch is no transit, unless the link itself is drained.
    if (ports_.arc_drained[arc] != 0) {
      const bool begins = ports_.switch_drained[s] != 0 && flow_[s] == ports_.sources[s];
      const bool ends = depth == 1 && ports_.switch_drained[s] == 0;
      if (ports_.link_drained[arc] != 0 || !(begins || ends)) ++tally_.drained_entries;
    }
    if (counts) tally_.load[arc] += flow_[s];
    if (to_host) {
      host_flow_[to] += host_flow_[s];
      if (counts) tally_.host_load[arc] += host_flow_[s];
    }
  }
}

void PlaneAudit::add_turns(std::uint32_t destination) {
  const bool one_lane = lanes_.single() && lanes_.path_level.empty();
  if (!one_lane) {
    levels_.assign(plane_.switch_count(), 0);
    for (std::uint32_t h = 0; h < plane_.homes.size(); ++h) {
      const std::uint32_t s = plane_.homes[h].sw;
      if (ports_.sources[s] > 0) levels_[s] |= 1U << lanes_.level(h, destination, plane_.destination_count());
    }
  }
  for (const std::uint32_t s : walk_.by_depth()) {
    if (walk_.depth(s) <= 1) break;  // on the last link packets wait for no other
    if (flow_[s] == 0) continue;
    const std::uint32_t in = walk_.arc(s), to = plane_.arcs[in].to, out = walk_.arc(to);
    if (one_lane) {
      channels_->add(in, 0, out, 0);
      continue;
    }
    levels_[to] |= levels_[s];
    for (std::uint32_t bits = levels_[s]; bits != 0; bits &= bits - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(bits));
      if (lane < channels_->lanes()) channels_->add(in, lane, out, lane);
    }
  }
}

void PlaneAudit::add_turns_by_class(std::uint32_t destination) {
  const unsigned levels = lanes_.levels;
  classes_.assign(plane_.switch_count() * levels, 0);
  for (std::uint32_t h = 0; h < plane_.homes.size(); ++h) {
    const std::uint32_t s = plane_.homes[h].sw;
    if (ports_.sources[s] == 0) continue;
    const unsigned level = lanes_.level(h, destination, plane_.destination_count());
    if (level < levels) classes_[s * levels + level] |= 1U;  // class 0: from an end port
  }
  const auto lane = [&](unsigned from, unsigned by, unsigned level) {
    return lanes_.lane_table[(std::size_t{from} * lanes_.classes + by) * levels + level];
  };
  for (const std::uint32_t s : walk_.by_depth()) {
    if (walk_.depth(s) == 0) break;
    const std::uint32_t in = walk_.arc(s), to = plane_.arcs[in].to;
    const unsigned in_class = lanes_.arc_class[in];
    const bool last = walk_.depth(s) == 1;
    for (unsigned level = 0; level < levels; ++level) {
      const std::uint32_t entered = classes_[s * levels + level];
      if (entered == 0) continue;
      classes_[to * levels + level] |= 1U << in_class;
      if (last) continue;
      const std::uint32_t out = walk_.arc(to);
      const unsigned out_lane = lane(in_class, lanes_.arc_class[out], level);
      for (std::uint32_t bits = entered; bits != 0; bits &= bits - 1) {
        const unsigned in_lane = lane(static_cast<unsigned>(std::countr_zero(bits)), in_class, level);
        if (in_lane < channels_->lanes() && out_lane < channels_->lanes()) channels_->add(in, in_lane, out, out_lane);
      }
    }
  }
}

}  // namespace railweave::fabric
