#include "fabric/routing/multipath/path_sets_audit.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "fabric/routing/audit/channel_graph.h"
#include "fabric/routing/audit/column_walk.h"
#include "fabric/routing/audit/plane_audit.h"

namespace railweave::fabric {

namespace {

class SetsWalk {
 public:
  SetsWalk(const FabricView& view, const RoutingScope& scope, PlaneId id, const PlanePathSets& sets,
           PathSetsReport& report)
      : topology_(view.topology()),
        plane_(scope.plane(id)),
        sets_(sets),
        ports_(plane_, view),
        distances_(plane_, ports_),
        channels_(plane_, 1),
        load_(plane_.arcs.size(), 0),
        report_(report) {}

  void run() {
    for (std::uint32_t home = 0; home < plane_.homes.size(); ++home) walk_to(home);
    const auto circles = channels_.circles();
    if (!circles.lanes.empty()) report_.credit_loop = true;
    if (report_.credit_loop_at.empty()) {
      for (const std::uint32_t channel : circles.example) report_.credit_loop_at.push_back(port_of(channel));
    }
    for (std::uint32_t a = 0; a < load_.size(); ++a) {
      if (load_[a] <= report_.max_link_load_hosts) continue;
      report_.max_link_load_hosts = load_[a];
      report_.max_link_hosts = port_of(a);
    }
  }

 private:
  enum class Fate : std::uint8_t { unknown, on_stack, arrives, lost, loops };

  [[nodiscard]] std::uint32_t from(std::uint32_t arc) const { return plane_.arcs[plane_.arcs[arc].reverse].to; }
  [[nodiscard]] PortId port_of(std::uint32_t arc) const {
    return topology_.ports(plane_.switches[from(arc)])[plane_.arcs[arc].port - 1U];
  }
  [[nodiscard]] bool alive(std::uint32_t arc) const { return ports_.arc(from(arc), plane_.arcs[arc].port) == arc; }
  [[nodiscard]] std::span<const PlanePathSets::Member> set(std::uint32_t home, std::uint32_t s) const {
    return sets_.set(home, s, plane_.switch_count());
  }

  // The worst that can happen to packets at s. Appends switches to done_ once they are done: a switch after all that
  // its members lead to, except in loops.
  Fate follow(std::uint32_t home, std::uint32_t s) {
    struct Frame {
      std::uint32_t sw;
      std::size_t member;
    };
    std::vector<Frame> stack{{s, 0}};
    if (fate_[s] != Fate::unknown) return fate_[s];
    fate_[s] = Fate::on_stack;
    worst_[s] = set(home, s).empty() ? Fate::lost : Fate::arrives;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const auto members = set(home, frame.sw);
      if (frame.member == members.size()) {
        const std::uint32_t done = frame.sw;
        fate_[done] = worst_[done];
        done_.push_back(done);
        stack.pop_back();
        if (!stack.empty()) worst_[stack.back().sw] = std::max(worst_[stack.back().sw], fate_[done]);
        continue;
      }
      const std::uint32_t arc = members[frame.member++].arc, to = plane_.arcs[arc].to;
      Fate& worst = worst_[frame.sw];
      if (!alive(arc) || from(arc) != frame.sw) {
        worst = std::max(worst, Fate::lost);
      } else if (fate_[to] == Fate::on_stack) {
        worst = Fate::loops;
      } else if (fate_[to] != Fate::unknown) {
        worst = std::max(worst, fate_[to]);
      } else {
        fate_[to] = Fate::on_stack;
        worst_[to] = set(home, to).empty() ? Fate::lost : Fate::arrives;
        stack.push_back({to, 0});
      }
    }
    return fate_[s];
  }

  void walk_to(std::uint32_t home) {
    const std::uint32_t end = plane_.homes[home].sw;
    distances_.compute(end);
    fate_.assign(plane_.switch_count(), Fate::unknown);
    worst_.assign(plane_.switch_count(), Fate::arrives);
    done_.clear();
    fate_[end] = Fate::arrives;
    for (const Home& source : plane_.homes) {
      if (source.sw == end || ports_.sources[source.sw] == 0) continue;
      ++report_.pairs;
      const Fate fate = follow(home, source.sw);
      if (fate == Fate::arrives) continue;
      ++report_.unreachable;
      if (fate == Fate::loops) ++report_.looping;
      if (distances_.undrained(source.sw) == LiveDistances::kFar) {
        ++report_.cut_off;
      } else if (report_.examples.size() < 8) {
        report_.examples.push_back(
            fmt::format("{} to {}", topology_.name(plane_.switches[source.sw]), topology_.name(plane_.switches[end])));
      }
    }
    check_sets(home, end);
    add_flows(home, end);
  }

  void check_sets(std::uint32_t home, std::uint32_t end) {
    std::vector<std::uint8_t> passed(plane_.switch_count(), 0);  // 1: transit passes the switch
    for (std::size_t i = done_.size(); i-- > 0;) {
      for (const auto& member : set(home, done_[i])) passed[plane_.arcs[member.arc].to] = 1;
    }
    for (const std::uint32_t s : done_) {
      const auto members = set(home, s);
      if (members.empty()) continue;
      double sum = 0;
      bool positive = true;
      for (const auto& member : members) {
        sum += member.fraction;
        positive = positive && member.fraction > 0;
        const std::uint32_t to = plane_.arcs[member.arc].to;
        if (ports_.link_drained[member.arc] != 0 || (ports_.switch_drained[s] != 0 && passed[s] != 0) ||
            (ports_.switch_drained[to] != 0 && to != end)) {
          ++report_.drained_members;
        }
        if (to == end) continue;
        for (const auto& next : set(home, to)) channels_.add(member.arc, 0, next.arc, 0);
      }
      if (!positive || std::abs(sum - 1) > 1e-4) ++report_.bad_fractions;
      report_.most_members = std::max(report_.most_members, static_cast<unsigned>(members.size()));
    }
  }

  void add_flows(std::uint32_t home, std::uint32_t end) {
    const double to_hosts = ports_.host_sources[end];
    flow_.assign(plane_.switch_count(), 0);
    for (const Home& source : plane_.homes) flow_[source.sw] = ports_.host_sources[source.sw];
    for (std::size_t i = done_.size(); i-- > 0;) {
      const std::uint32_t s = done_[i];
      if (fate_[s] != Fate::arrives) continue;
      for (const auto& member : set(home, s)) {
        const double part = flow_[s] * member.fraction;
        flow_[plane_.arcs[member.arc].to] += part;
        load_[member.arc] += part * to_hosts;
      }
    }
  }

  const Topology& topology_;
  const Plane& plane_;
  const PlanePathSets& sets_;
  PortMap ports_;
  LiveDistances distances_;
  ChannelGraph channels_;
  std::vector<double> load_, flow_;  // by arc; by switch
  std::vector<Fate> fate_, worst_;   // by switch
  std::vector<std::uint32_t> done_;
  PathSetsReport& report_;
};

}  // namespace

PathSetsReport audit(const FabricView& view, const PathSets& sets) {
  PathSetsReport report;
  for (const PlaneId id : sets.scope->planes()) {
    SetsWalk(view, *sets.scope, id, sets.planes[id.index()], report).run();
  }
  return report;
}

}  // namespace railweave::fabric
