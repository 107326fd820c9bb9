// A simulated lossless network, packet by packet, to check guarantees against: store and forward, each output serves
// its lanes by a VL arbitration table as the InfiniBand Architecture Specification has it (7.6.9.2: entries in turn, a
// lane sends while it has weight, packets and credit), each input has a buffer of its own per lane whose free bytes are
// the credit of what sends into it. Inside a switch packets of one lane wait per output, and inputs keep up with
// outputs. Sources send at a rate, or flood. Shares nothing with fabric/flow, fabric/capacity or fabric/qos but the
// table's values.
//
// Time is in bytes of a link: all links are equally fast.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <queue>
#include <random>
#include <vector>

namespace railweave::scheduler::testing {

struct LaneTurn {
  unsigned lane = 0;
  unsigned weight = 0;  // in 64 bytes
};

class PacketNetwork {
 public:
  using Time = std::int64_t;
  static constexpr unsigned kMtu = 4096;

  // buffer_bytes: of each input and lane.
  PacketNetwork(std::vector<LaneTurn> table, unsigned lanes, std::int64_t buffer_bytes, std::uint64_t seed)
      : table_(std::move(table)), lanes_(lanes), buffer_bytes_(buffer_bytes), random_(seed) {}

  // rate: of a link's, 0 to 1; above 1: floods. small: packets of any size, else full ones.
  void add_flow(const std::vector<std::uint32_t>& path, unsigned lane, double rate, bool small) {
    Flow flow{.lane = lane, .rate = rate, .small = small};
    for (const std::uint32_t link : path) {
      const auto [at, is_new] = link_of_.try_emplace(link, static_cast<std::uint32_t>(links_.size()));
      if (is_new) {
        links_.push_back({});
        links_.back().waiting.resize(lanes_);
        links_.back().credit.assign(lanes_, buffer_bytes_);
        links_.back().weight_left = static_cast<std::int64_t>(table_[0].weight) * 64;
      }
      flow.path.push_back(at->second);
    }
    flows_.push_back(std::move(flow));
  }

  void run(Time until) {
    if (now_ == 0) {
      for (std::uint32_t f = 0; f < flows_.size(); ++f) {
        if (flows_[f].path.empty()) continue;
        if (flows_[f].rate > 1) {
          for (int i = 0; i < 3; ++i) make_packet(f);
        } else {
          events_.push({static_cast<Time>(random_() % (8 * kMtu)), Event::source, f});
        }
      }
    }
    while (!events_.empty() && events_.top().at <= until) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      if (event.what == Event::source) {
        const Time size = make_packet(event.who);
        const double gap = static_cast<double>(size) / flows_[event.who].rate + flows_[event.who].rest;
        const auto whole = static_cast<Time>(gap);
        flows_[event.who].rest = gap - static_cast<double>(whole);
        events_.push({now_ + whole, Event::source, event.who});
      } else {
        finish(event.who);
      }
    }
    now_ = until;
  }

  [[nodiscard]] std::int64_t made_bytes(std::size_t flow) const { return flows_[flow].made; }
  [[nodiscard]] std::int64_t arrived_bytes(std::size_t flow) const { return flows_[flow].arrived; }
  [[nodiscard]] std::int64_t sent_bytes() const { return sent_; }  // over all links

 private:
  struct Packet {
    std::uint32_t flow = 0, hop = 0;
    std::int64_t size = 0;
  };
  struct Link {
    std::vector<std::deque<Packet>> waiting;  // by lane: to leave by it
    std::vector<std::int64_t> credit;         // by lane: free at its other end
    std::size_t turn = 0;
    std::int64_t weight_left = 0;
    bool busy = false;
    Packet on_wire;
  };
  struct Flow {
    std::vector<std::uint32_t> path;
    unsigned lane = 0;
    double rate = 0, rest = 0;
    bool small = false;
    std::int64_t made = 0, arrived = 0;
  };
  struct Event {
    enum What : std::uint8_t { sent, source };
    Time at = 0;
    What what = sent;
    std::uint32_t who = 0;
    friend bool operator<(const Event& a, const Event& b) {  // earliest on top, then links before sources, by number
      if (a.at != b.at) return a.at > b.at;
      return a.what != b.what ? a.what > b.what : a.who > b.who;
    }
  };

  Time make_packet(std::uint32_t f) {
    Flow& flow = flows_[f];
    const std::int64_t size = flow.small ? 64 + static_cast<std::int64_t>(random_() % (kMtu - 63)) : kMtu;
    flow.made += size;
    links_[flow.path[0]].waiting[flow.lane].push_back({f, 0, size});
    serve(flow.path[0]);
    return size;
  }

  void serve(std::uint32_t at) {
    Link& link = links_[at];
    if (link.busy) return;
    for (std::size_t step = 0; step <= table_.size(); ++step) {
      const unsigned lane = table_[link.turn].lane;
      auto& queue = link.waiting[lane];
      if (link.weight_left > 0 && !queue.empty()) {
        const Packet packet = queue.front();
        const bool last = packet.hop + 1 == flows_[packet.flow].path.size();  // adapters take what comes
        if (last || link.credit[lane] >= packet.size) {
          queue.pop_front();
          if (!last) link.credit[lane] -= packet.size;
          link.weight_left -= packet.size;
          link.busy = true;
          link.on_wire = packet;
          events_.push({now_ + packet.size, Event::sent, at});
          return;
        }
      }
      link.turn = (link.turn + 1) % table_.size();
      link.weight_left = static_cast<std::int64_t>(table_[link.turn].weight) * 64;
    }
  }

  void finish(std::uint32_t at) {
    Link& link = links_[at];
    Packet packet = link.on_wire;
    Flow& flow = flows_[packet.flow];
    link.busy = false;
    sent_ += packet.size;
    if (packet.hop > 0) {  // its place in the buffer it came from is free again
      const std::uint32_t before = flow.path[packet.hop - 1];
      links_[before].credit[flow.lane] += packet.size;
      serve(before);
    } else if (flow.rate > 1) {
      make_packet(packet.flow);
    }
    if (packet.hop + 1 == flow.path.size()) {
      flow.arrived += packet.size;
    } else {
      ++packet.hop;
      links_[flow.path[packet.hop]].waiting[flow.lane].push_back(packet);
      serve(flow.path[packet.hop]);
    }
    serve(at);
  }

  std::vector<LaneTurn> table_;
  unsigned lanes_;
  std::int64_t buffer_bytes_;
  std::mt19937_64 random_;
  std::map<std::uint32_t, std::uint32_t> link_of_;
  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::priority_queue<Event> events_;
  Time now_ = 0;
  std::int64_t sent_ = 0;
};

}  // namespace railweave::scheduler::testing
