#include "services/verify/hose.h"

#include <algorithm>
#include <unordered_map>

namespace railweave::verify {
namespace {

// A bipartite graph of the ports that send and of those that receive, in numbers of their own.
struct Matching {
  std::vector<std::int64_t> from_left, to_left;
  std::vector<std::vector<std::size_t>> to_of;                          // by sender
  std::vector<std::vector<std::pair<std::size_t, std::int64_t>>> sent;  // by receiver: from whom how much

  // A shortest path from a sender with something left to a receiver with room, back over what was sent; sends along it.
  std::int64_t augment() {
    constexpr std::size_t kNone = SIZE_MAX;
    std::vector<std::size_t> sender_of(to_left.size(), kNone), receiver_of(from_left.size(), kNone);
    std::vector<char> seen(from_left.size(), 0);
    std::vector<std::size_t> open;
    for (std::size_t s = 0; s < from_left.size(); ++s) {
      if (from_left[s] <= 0) continue;
      seen[s] = 1;
      open.push_back(s);
    }
    for (std::size_t next = 0; next < open.size(); ++next) {
      const std::size_t s = open[next];
      for (const std::size_t d : to_of[s]) {
        if (sender_of[d] != kNone) continue;
        sender_of[d] = s;
        if (to_left[d] > 0) return send(d, sender_of, receiver_of);
        for (const auto& [other, mbps] : sent[d]) {
          if (mbps <= 0 || seen[other] != 0) continue;
          seen[other] = 1;
          receiver_of[other] = d;
          open.push_back(other);
        }
      }
    }
    return 0;
  }

 private:
  std::int64_t& sent_by(std::size_t s, std::size_t d) {
    for (auto& [other, mbps] : sent[d]) {
      if (other == s) return mbps;
    }
    return sent[d].emplace_back(s, 0).second;
  }

  std::int64_t send(std::size_t last, const std::vector<std::size_t>& sender_of,
                    const std::vector<std::size_t>& receiver_of) {
    std::int64_t mbps = to_left[last];
    for (std::size_t d = last;;) {
      const std::size_t s = sender_of[d];
      if (receiver_of[s] == SIZE_MAX) {
        mbps = std::min(mbps, from_left[s]);
        break;
      }
      d = receiver_of[s];
      mbps = std::min(mbps, sent_by(s, d));
    }
    to_left[last] -= mbps;
    for (std::size_t d = last;;) {
      const std::size_t s = sender_of[d];
      sent_by(s, d) += mbps;
      if (receiver_of[s] == SIZE_MAX) {
        from_left[s] -= mbps;
        return mbps;
      }
      d = receiver_of[s];
      sent_by(s, d) -= mbps;
    }
  }
};

}  // namespace

std::int64_t largest_load(const std::vector<EndPort>& ports,
                          const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  Matching graph;
  std::unordered_map<std::size_t, std::size_t> senders, receivers;
  for (const auto& [s, d] : pairs) {
    const auto [from, is_sender] = senders.try_emplace(s, graph.from_left.size());
    if (is_sender) {
      graph.from_left.push_back(ports[s].send);
      graph.to_of.emplace_back();
    }
    const auto [to, is_receiver] = receivers.try_emplace(d, graph.to_left.size());
    if (is_receiver) {
      graph.to_left.push_back(ports[d].receive);
      graph.sent.emplace_back();
    }
    graph.to_of[from->second].push_back(to->second);
  }
  std::int64_t total = 0;
  // One on a side exchanges with all others as much as it and they can.
  if (graph.from_left.size() == 1 || graph.to_left.size() == 1) {
    std::int64_t sends = 0, receives = 0;
    for (const std::int64_t mbps : graph.from_left) sends += mbps;
    for (const std::int64_t mbps : graph.to_left) receives += mbps;
    return std::min(sends, receives);
  }
  for (std::int64_t more = graph.augment(); more > 0; more = graph.augment()) total += more;
  return total;
}

}  // namespace railweave::verify
