#include "fabric/capacity/spread_load.h"

#include <algorithm>
#include <cmath>

namespace railweave::fabric {
namespace {

// Fractions are sums of quotients: what is above a whole number by less than this is their rounding.
constexpr double kRounding = 1e-5;

std::int64_t rounded_up(double mbps) { return static_cast<std::int64_t>(std::ceil(mbps - kRounding)); }

}  // namespace

// Most arcs of a tree have one fraction for all sources: then a bit each is enough.
void SpreadLoads::Use::note(std::span<const std::uint32_t> whose, std::size_t sources, double fraction) {
  if (even == 0) {
    even = fraction;
    crosses.resize((sources + 63) / 64);
  }
  if (by_source.empty() && std::abs(fraction - even) > 1e-9 * even) {
    by_source.resize(sources);
    for (std::size_t i = 0; i < sources; ++i) {
      if ((crosses[i / 64] >> i % 64 & 1U) != 0) by_source[i] = even;
    }
  }
  for (const std::uint32_t source : whose) {
    if (by_source.empty()) {
      crosses[source / 64] |= std::uint64_t{1} << source % 64;
    } else {
      by_source[source] = std::max(by_source[source], fraction);
    }
  }
}

double SpreadLoads::Use::sent(const std::vector<Source>& sources) const {
  double sum = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!by_source.empty()) {
      sum += sources[i].send * by_source[i];
    } else if ((crosses[i / 64] >> i % 64 & 1U) != 0) {
      sum += sources[i].send * even;
    }
  }
  return sum;
}

DirectedLink SpreadLoads::link_of(std::uint32_t arc) const {
  const Plane& plane = paths_.plane();
  const Arc& one = plane.arcs[arc];
  return directed_link(topology_, topology_.ports(plane.switches[plane.arcs[one.reverse].to])[one.port - 1U]);
}

void SpreadLoads::read(std::span<const HosePort> ports) {
  sources_.clear();
  targets_.clear();
  for (const HosePort& port : ports) {
    const std::uint32_t home = scope_.local(scope_.destination(scope_.find(port.port)).home);
    if (port.send_mbps > 0) sources_.push_back({home, static_cast<double>(port.send_mbps)});
    if (port.receive_mbps > 0) targets_.push_back({port.port, home, static_cast<double>(port.receive_mbps)});
  }
  const auto merge = [](auto& list, auto same, auto add) {
    std::size_t kept = 0;
    for (const auto& one : list) {
      if (kept > 0 && same(list[kept - 1], one)) {
        add(list[kept - 1], one);
      } else {
        list[kept++] = one;
      }
    }
    list.resize(kept);
  };
  std::ranges::stable_sort(sources_, {}, &Source::sw);
  merge(
      sources_, [](const Source& a, const Source& b) { return a.sw == b.sw; },
      [](Source& a, const Source& b) { a.send += b.send; });
  switches_.clear();
  for (const Source& source : sources_) switches_.push_back(source.sw);
  if (paths_.spread() != PathSpread::adaptive) return;
  std::ranges::stable_sort(targets_, {}, &Target::home);
  merge(
      targets_, [](const Target& a, const Target& b) { return a.home == b.home; },
      [](Target& a, const Target& b) { a.receive += b.receive; });
}

// What a port sends is bounded by what the others receive, and the reverse.
void SpreadLoads::append_host_links(std::span<const HosePort> ports, LoadVector& loads) const {
  std::int64_t send = 0, receive = 0;
  for (const HosePort& port : ports) {
    send += port.send_mbps;
    receive += port.receive_mbps;
  }
  for (const HosePort& port : ports) {
    const std::int64_t out = std::min(port.send_mbps, receive - port.receive_mbps);
    const std::int64_t in = std::min(port.receive_mbps, send - port.send_mbps);
    if (out > 0) loads.push_back({directed_link(topology_, port.port), out});
    if (in > 0) loads.push_back({directed_link(topology_, topology_.peer(port.port)), in});
  }
}

SpreadLoad SpreadLoads::hose(std::span<const HosePort> ports) {
  SpreadLoad result;
  read(ports);
  append_host_links(ports, result.loads);
  uses_.resize(paths_.plane().arcs.size());
  used_.clear();
  for (const Target& target : targets_) {
    paths_.aim(target.port);
    towards_.clear();
    paths_.from_each(switches_,
                     [&](std::span<const std::uint32_t> whose, std::optional<std::span<const ArcShare>> shares) {
                       if (!shares) {
                         result.unrouted += whose.size();
                         return;
                       }
                       for (const ArcShare& share : *shares) {
                         Use& use = uses_[share.arc];
                         if (use.even == 0) used_.push_back(share.arc);
                         if (use.most == 0) towards_.push_back(share.arc);
                         use.most = std::max(use.most, share.fraction);
                         use.note(whose, sources_.size(), share.fraction);
                       }
                     });
    for (const std::uint32_t arc : towards_) {
      uses_[arc].received += target.receive * uses_[arc].most;
      uses_[arc].most = 0;
    }
  }
  for (const std::uint32_t arc : used_) {
    Use& use = uses_[arc];
    const auto mbps = rounded_up(std::min(use.received, use.sent(sources_)));
    if (mbps > 0) result.loads.push_back({link_of(arc), mbps});
    use = {};
  }
  sort_by_link(result.loads);
  return result;
}

SpreadLoad SpreadLoads::pattern(std::span<const PatternFlow> flows) {
  SpreadLoad result;
  const std::size_t arcs = paths_.plane().arcs.size();
  std::vector<double> load(arcs);
  LoadVector ends;
  for (const PatternFlow& flow : flows) {
    if (flow.mbps <= 0) continue;
    paths_.aim(flow.ports.to);
    const auto shares = paths_.from(scope_.local(scope_.destination(scope_.find(flow.ports.from)).home));
    if (!shares || flow.ports.from == flow.ports.to) {
      ++result.unrouted;
      continue;
    }
    for (const ArcShare& share : *shares) load[share.arc] += static_cast<double>(flow.mbps) * share.fraction;
    ends.push_back({directed_link(topology_, flow.ports.from), flow.mbps});
    ends.push_back({directed_link(topology_, topology_.peer(flow.ports.to)), flow.mbps});
  }
  for (std::uint32_t arc = 0; arc < arcs; ++arc) {
    if (load[arc] > 0) result.loads.push_back({link_of(arc), rounded_up(load[arc])});
  }
  std::ranges::sort(ends, {}, &LinkLoad::link);
  for (const LinkLoad& one : ends) {
    const bool same = !result.loads.empty() && result.loads.back().link == one.link;
    same ? (void)(result.loads.back().mbps += one.mbps) : result.loads.push_back(one);
  }
  sort_by_link(result.loads);
  return result;
}

}  // namespace railweave::fabric
