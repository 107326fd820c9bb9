#include "services/verify/spread.h"

#include <algorithm>
#include <cmath>

namespace railweave::verify {

std::int64_t whole_mbps(double mbps) { return static_cast<std::int64_t>(std::ceil(mbps - 1e-5)); }

int SpreadWalk::hops(std::uint32_t sw, std::uint32_t home, std::uint64_t lid) {
  if (hops_lid_ != lid) hops_.clear();
  hops_lid_ = lid;
  std::vector<std::uint32_t> trail;
  while (sw != home && !hops_.contains(sw)) {
    hops_[sw] = -1;
    trail.push_back(sw);
    const PortNumber out = walker_.next(sw, lid);
    if (out == kNoPort || cabling_.switch_behind(out) == kNoPort) break;
    sw = cabling_.switch_behind(out);
  }
  int count = sw == home ? 0 : hops_[sw];
  for (std::size_t i = trail.size(); i-- > 0;) {
    if (count >= 0) ++count;
    hops_[trail[i]] = count;
  }
  return count;
}

bool SpreadWalk::flood(const EndPort& from, const EndPort& to, PortParts& parts) {
  const std::uint32_t first = cabling_.switch_behind(from.number), home = cabling_.switch_behind(to.number);
  if (walker_.is_dead(from.number) || walker_.is_dead(to.number) || first == kNoPort || home == kNoPort) return false;
  const PortNumber last = cabling_.peer(to.number);
  if (walker_.next(home, to.lid) != last) return false;
  const int most = hops(first, home, to.lid);
  if (most < 0) return false;
  parts[from.number] = parts[last] = 1;
  std::map<std::uint32_t, double> here{{first, 1.0}};
  for (int left = most; left > 0; --left) {
    std::map<std::uint32_t, double> nearer;
    for (const auto& [sw, part] : here) {
      std::vector<std::pair<PortNumber, double>> members;
      double sum = 0;
      for (const PortNumber out : cabling_.ports_of(sw)) {
        if (out == kNoPort || walker_.is_dead(out) || cabling_.switch_behind(out) == kNoPort) continue;
        const std::uint32_t next = cabling_.switch_behind(out);
        if ((next == home ? 0 : hops(next, home, to.lid)) != left - 1) continue;
        const std::int64_t rate = network_.rate_mbps.at(cabling_.name(out));
        members.emplace_back(out, static_cast<double>(rate == 0 ? kUnknownRateMbps : rate));
        sum += members.back().second;
      }
      for (const auto& [out, rate] : members) {
        parts[out] += part * rate / sum;
        nearer[cabling_.switch_behind(out)] += part * rate / sum;
      }
    }
    here = std::move(nearer);
  }
  return true;
}

bool SpreadWalk::parts(const EndPort& from, const EndPort& to, PortParts& parts) {
  parts.clear();
  if (from.number == kNoPort || to.number == kNoPort) return false;
  if (is_adaptive_) return flood(from, to, parts);
  const auto lids = std::uint64_t{1} << network_.end_port_lmc.at(to.name);
  for (std::uint64_t lid = to.lid; lid < to.lid + lids; ++lid) {
    if (!walker_.walk(from.number, to.number, lid, path_)) return false;
    for (const PortNumber out : path_) parts[out] += 1.0 / static_cast<double>(lids);
  }
  return true;
}

std::unordered_map<PortNumber, std::int64_t> spread_bound(SpreadWalk& walk, const Cabling& cabling,
                                                          const std::vector<EndPort>& ports,
                                                          std::vector<std::pair<std::size_t, std::size_t>>& lost) {
  // 1. Cables of the ports themselves.
  std::unordered_map<PortNumber, std::int64_t> bound;
  std::int64_t send = 0, receive = 0;
  for (const EndPort& port : ports) {
    send += port.send;
    receive += port.receive;
  }
  std::map<std::uint32_t, std::vector<std::size_t>>
      behind;  // by switch: what packets do next is the same for all of them
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].number == kNoPort) continue;
    bound[ports[i].number] = std::min(ports[i].send, receive - ports[i].receive);
    bound[cabling.peer(ports[i].number)] = std::min(ports[i].receive, send - ports[i].send);
    if (ports[i].send > 0) behind[cabling.switch_behind(ports[i].number)].push_back(i);
  }
  // 2. Ports between switches.
  std::unordered_map<PortNumber, double> received;
  std::unordered_map<PortNumber, std::unordered_map<std::uint32_t, double>> by_sender;  // by switch
  PortParts parts;
  for (std::size_t d = 0; d < ports.size(); ++d) {
    std::unordered_map<PortNumber, double> largest;
    for (const auto& [sw, senders] : behind) {
      const auto s = std::ranges::find_if(senders, [&](std::size_t one) { return one != d; });
      if (s == senders.end()) continue;
      if (!walk.parts(ports[*s], ports[d], parts)) {
        lost.emplace_back(*s, d);
        continue;
      }
      for (const auto& [out, part] : parts) {
        if (bound.contains(out)) continue;
        largest[out] = std::max(largest[out], part);
        double& sent = by_sender[out][sw];
        sent = std::max(sent, part);
      }
    }
    for (const auto& [out, part] : largest) received[out] += static_cast<double>(ports[d].receive) * part;
  }
  for (const auto& [out, senders] : by_sender) {
    double sent = 0;
    for (const auto& [sw, part] : senders) {
      for (const std::size_t s : behind.at(sw)) sent += static_cast<double>(ports[s].send) * part;
    }
    bound[out] = whole_mbps(std::min(received[out], sent));
  }
  return bound;
}

}  // namespace railweave::verify
