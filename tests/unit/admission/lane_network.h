// A simulated InfiniBand subnet, packet by packet, on the tables that its ports hold: SL to VL by ingress and egress port, the
// high- and the low-priority table of VL arbitration with weights in 64 bytes and the high limit in 4 KiB (InfiniBand Architecture
// Specification 1.7, 7.6.9.2), credits of each input and lane, packets of any size; a packet on VL 15 is discarded where it is. Store
// and forward; inside a switch packets wait per output. Sources send at a rate, or flood. Shares nothing with fabric/qos or
// fabric/capacity but the values of tables.
//
// A lane that is watched is held to what it is promised, at every moment at which it has a packet to send and the credit for it:
// of t bytes that the link could have sent since that began, it has begun to send at least share x (t - others - packet). others:
// what all other entries of the table send at most in one round, their weight and a packet too much in each visit. For a link that
// has something to send never pauses, so that t is what the lane and the others have sent, and once a packet of the lane's own that
// was on the wire already; whenever the table has come round, the lane has sent at least its weight w, and the others at most that
// much: t <= sent + (sent / w + 1) x others + packet. With share <= w / (w + others), as is promised, that is the bound: what is
// reserved, within one packet per visit.
//
// Time is in bytes of a link: all links are equally fast.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <queue>
#include <random>
#include <tuple>
#include <vector>

namespace railweave::scheduler::testing {

inline constexpr unsigned kDiscarded = 15;

struct LanePort {
  struct Entry {
    unsigned lane = 0;
    std::int64_t weight = 0;  // in 64 bytes
  };
  std::vector<Entry> high, low;
  unsigned high_limit = 0;  // in 4 KiB, 0: one packet, 255: none
  std::array<std::uint8_t, 16> lane_of_level{};
};

class LaneNetwork {
 public:
  using Time = std::int64_t;

  // buffer_bytes: of each input and lane.
  LaneNetwork(std::int64_t buffer_bytes, std::uint64_t seed) : buffer_bytes_(buffer_bytes), random_(seed) {}

  // The port that a directed link leaves by.
  void add_port(std::uint32_t link, LanePort port) {
    number_[link] = static_cast<std::uint32_t>(links_.size());
    links_.emplace_back();
    links_.back().port = std::move(port);
    links_.back().credit.fill(buffer_bytes_);
  }
  // Packets of that level that came in by one link leave by another on this VL instead of the port's own.
  void set_lane(std::uint32_t in, std::uint32_t out, unsigned level, unsigned lane) {
    exceptions_[{number_.at(in), number_.at(out), level}] = lane;
  }
  struct Source {
    std::vector<std::uint32_t> path;
    unsigned level = 0;
    double rate = 0;                       // of a link's, 0 to 1; above 1: floods
    std::int64_t least = 64, most = 4096;  // bytes of a packet
  };
  // share: of the link; others, packet: as above.
  void watch(std::uint32_t link, unsigned lane, double share, std::int64_t others, std::int64_t packet) {
    links_[number_.at(link)].watched.push_back({lane, share, others, packet, -1, 0});
  }
  void add_flow(const Source& source) {
    Flow flow{.path = {}, .level = source.level, .rate = source.rate, .least = source.least, .most = source.most};
    for (const std::uint32_t link : source.path) flow.path.push_back(number_.at(link));
    flows_.push_back(std::move(flow));
  }

  void run(Time until) {
    for (std::uint32_t f = 0; f < flows_.size(); ++f) {
      if (flows_[f].rate <= 1) {
        events_.push({static_cast<Time>(random_() % 32'768), Event::source, f});
      } else {
        for (int i = 0; i < 3; ++i) make_packet(f);
      }
    }
    while (!events_.empty() && events_.top().at <= until) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      if (event.what == Event::source) {
        Flow& flow = flows_[event.who];
        const double gap = static_cast<double>(make_packet(event.who)) / flow.rate + flow.rest;
        const auto whole = static_cast<Time>(gap);
        flow.rest = gap - static_cast<double>(whole);
        events_.push({now_ + whole, Event::source, event.who});
      } else {
        finish(event.who);
      }
    }
  }

  [[nodiscard]] std::int64_t made_bytes(std::size_t flow) const { return flows_[flow].made; }
  [[nodiscard]] std::int64_t arrived_bytes(std::size_t flow) const { return flows_[flow].arrived; }
  [[nodiscard]] std::int64_t sent_bytes() const { return sent_; }              // over all links
  [[nodiscard]] std::int64_t discarded_packets() const { return discarded_; }  // on VL 15
  // Of watched lanes: how often their service was looked at, and the most that one was short of its bound, in packets.
  [[nodiscard]] std::int64_t looks() const { return looks_; }
  [[nodiscard]] double most_short() const { return most_short_; }

 private:
  struct Packet {
    std::uint32_t flow = 0, hop = 0;
    std::int64_t size = 0;
    unsigned came_on = kDiscarded;  // VL on the link before
  };
  struct Turn {
    std::size_t at = 0;
    std::int64_t left = -1;  // bytes; -1: the entry's weight
  };
  struct Watched {
    unsigned lane = 0;
    double share = 0;
    std::int64_t others = 0, packet = 0;
    Time since = -1;        // it could send; -1: it cannot
    std::int64_t sent = 0;  // of its lane since then
  };
  struct Link {
    LanePort port;
    std::vector<Watched> watched;
    std::array<std::deque<Packet>, 16> waiting;  // by VL that they leave on
    std::array<std::int64_t, 16> credit{};       // free at the other end
    Turn high, low;
    std::int64_t high_sent = 0;  // bytes since a packet of the low table
    bool busy = false;
    unsigned lane_on_wire = 0;
    Packet on_wire;
  };
  struct Flow {
    std::vector<std::uint32_t> path;
    unsigned level = 0;
    double rate = 0, rest = 0;
    std::int64_t least = 0, most = 0, made = 0, arrived = 0;
  };
  struct Event {
    enum What : std::uint8_t { sent, source };
    Time at = 0;
    What what = sent;
    std::uint32_t who = 0;
    friend bool operator<(const Event& a, const Event& b) {
      if (a.at != b.at) return a.at > b.at;
      return a.what != b.what ? a.what > b.what : a.who > b.who;
    }
  };

  [[nodiscard]] unsigned lane_of(const Flow& flow, std::uint32_t hop) const {
    const std::uint32_t out = flow.path[hop];
    if (hop > 0) {
      const auto own = exceptions_.find({flow.path[hop - 1], out, flow.level});
      if (own != exceptions_.end()) return own->second;
    }
    return links_[out].port.lane_of_level[flow.level];
  }

  Time make_packet(std::uint32_t f) {
    Flow& flow = flows_[f];
    const auto sizes = static_cast<std::uint64_t>(flow.most - flow.least + 1);
    const std::int64_t size = flow.least + static_cast<std::int64_t>(random_() % sizes);
    flow.made += size;
    queue({f, 0, size, kDiscarded});
    return size;
  }

  // Puts a packet where it waits for its next link, or discards it.
  void queue(const Packet& packet) {
    const Flow& flow = flows_[packet.flow];
    const std::uint32_t out = flow.path[packet.hop];
    const unsigned lane = lane_of(flow, packet.hop);
    if (lane == kDiscarded) {
      ++discarded_;
      if (packet.hop > 0) free_input(flow.path[packet.hop - 1], packet);
      return;
    }
    links_[out].waiting[lane].push_back(packet);
    serve(out);
  }

  void free_input(std::uint32_t from, const Packet& packet) {
    links_[from].credit[packet.came_on] += packet.size;
    serve(from);
  }

  [[nodiscard]] bool can_send(const Link& link, unsigned lane) const {
    if (link.waiting[lane].empty()) return false;
    const Packet& first = link.waiting[lane].front();
    const bool last = first.hop + 1 == flows_[first.flow].path.size();  // adapters take what comes
    return last || link.credit[lane] >= first.size;
  }
  [[nodiscard]] bool any_can_send(const Link& link, const std::vector<LanePort::Entry>& table) const {
    for (const auto& entry : table) {
      if (entry.weight > 0 && can_send(link, entry.lane)) return true;
    }
    return false;
  }

  // The VL whose turn it is: an entry's lane sends while it has weight left, and packets and credit for them.
  unsigned next_lane(const Link& link, const std::vector<LanePort::Entry>& table, Turn& turn) const {
    while (true) {
      const auto& entry = table[turn.at];
      if (turn.left < 0) turn.left = entry.weight * 64;
      if (turn.left > 0 && can_send(link, entry.lane)) return entry.lane;
      turn = {(turn.at + 1) % table.size(), -1};
    }
  }

  void look_at_watched(Link& link) {
    for (Watched& one : link.watched) {
      if (!can_send(link, one.lane)) {
        one.since = -1;
      } else if (one.since < 0) {
        one.since = now_;
        one.sent = 0;
      } else {
        ++looks_;
        const double owed = one.share * static_cast<double>(now_ - one.since - one.others - one.packet);
        const double is_short = (owed - static_cast<double>(one.sent)) / static_cast<double>(one.packet);
        most_short_ = std::max(most_short_, is_short);
      }
    }
  }

  void serve(std::uint32_t at) {
    Link& link = links_[at];
    look_at_watched(link);
    if (link.busy) return;
    const bool high = any_can_send(link, link.port.high), low = any_can_send(link, link.port.low);
    if (!high && !low) return;
    const bool spent =
        link.high_sent > 0 && link.port.high_limit != 255 && link.high_sent >= link.port.high_limit * 4096;
    const bool from_high = high && (!low || !spent);
    Turn& turn = from_high ? link.high : link.low;
    const unsigned lane = next_lane(link, from_high ? link.port.high : link.port.low, turn);
    const Packet packet = link.waiting[lane].front();
    link.waiting[lane].pop_front();
    turn.left = packet.size >= turn.left ? 0 : turn.left - packet.size;
    link.high_sent = from_high ? link.high_sent + packet.size : 0;
    for (Watched& one : link.watched) one.sent += one.lane == lane ? packet.size : 0;
    if (packet.hop + 1 < flows_[packet.flow].path.size()) link.credit[lane] -= packet.size;
    link.busy = true;
    link.on_wire = packet;
    link.lane_on_wire = lane;
    events_.push({now_ + packet.size, Event::sent, at});
  }

  void finish(std::uint32_t at) {
    Link& link = links_[at];
    Packet packet = link.on_wire;
    Flow& flow = flows_[packet.flow];
    link.busy = false;
    sent_ += packet.size;
    if (packet.hop > 0) {
      free_input(flow.path[packet.hop - 1], packet);
    } else if (flow.rate > 1) {
      make_packet(packet.flow);
    }
    if (packet.hop + 1 == flow.path.size()) {
      flow.arrived += packet.size;
    } else {
      ++packet.hop;
      packet.came_on = links_[at].lane_on_wire;
      queue(packet);
    }
    serve(at);
  }

  std::int64_t buffer_bytes_;
  std::mt19937_64 random_;
  std::map<std::uint32_t, std::uint32_t> number_;  // of links
  std::map<std::tuple<std::uint32_t, std::uint32_t, unsigned>, unsigned> exceptions_;
  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::priority_queue<Event> events_;
  Time now_ = 0;
  std::int64_t sent_ = 0, discarded_ = 0, looks_ = 0;
  double most_short_ = -1e9;
};

}  // namespace railweave::scheduler::testing
