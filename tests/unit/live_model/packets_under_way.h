// Where packets may be on their way in a subnet in memory, and what they may wait for: packets that met tables of some moment go on by
// those of later ones, until their life is over. Of packets between adapters that are on one lane. Shares no code with what computes,
// orders or proves changes of tables.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/unit/infiniband/memory_subnet.h"

namespace railweave::control {

class PacketsUnderWay {
 public:
  using Subnet = fabric::infiniband::MemorySubnet;
  using TimePoint = fabric::infiniband::TimePoint;

  PacketsUnderWay(Subnet& subnet, std::vector<int> adapters) : subnet_(subnet), adapters_(std::move(adapters)) {}

  // Before and after whatever changes in the subnet: every adapter has sent to every other by the tables of now.
  void go_on() {
    const TimePoint now = subnet_.now();
    for (const int to : adapters_) {
      auto& places = places_[to];
      forget(places, now, [&](const Channel& at) { return passes(at); });
      std::set<Channel> moved;
      for (const int from : adapters_) {
        const Channel out{from, 1};
        if (from == to || !passes(out)) continue;
        places[out] = now;
        moved.insert(out);
      }
      for (const auto& [at, since] : places) moved.insert(at);
      while (!moved.empty()) {
        const Channel at = *moved.begin();
        moved.erase(moved.begin());
        const Channel next = after(at, to);
        if (next.first < 0) continue;
        const TimePoint since = places.at(at);
        later(waits_, std::pair(at, next), since);
        if (later(places, next, since)) moved.insert(next);
      }
    }
    forget(waits_, now, [&](const auto& wait) { return passes(wait.first) && passes(wait.second); });
  }
  // Packets that are on their way may wait for each other in a circle.
  [[nodiscard]] bool has_circle() const {
    std::map<Channel, std::size_t> waited;
    std::map<Channel, std::vector<Channel>> next;
    for (const auto& [wait, since] : waits_) {
      waited.try_emplace(wait.first, 0);
      ++waited[wait.second];
      next[wait.first].push_back(wait.second);
    }
    std::vector<Channel> free;
    for (const auto& [at, count] : waited) {
      if (count == 0) free.push_back(at);
    }
    for (std::size_t i = 0; i < free.size(); ++i) {
      for (const Channel& to : next[free[i]]) {
        if (--waited[to] == 0) free.push_back(to);
      }
    }
    return free.size() != waited.size();
  }
  void dump() const {
    int n = 0;
    for (const auto& [to, places] : places_) {
      for (const auto& [place, since] : places) {
        if (fate(place, to) != Fate::arrives && n++ < 6) {
          fprintf(stderr, "  to %d at %d/%u since %.6f fate %d:", to, place.first, place.second,
                  std::chrono::duration<double>(since.time_since_epoch()).count(), (int)fate(place, to));
          Channel at = place;
          for (int h = 0; h < 6 && at.first >= 0; ++h) {
            fprintf(stderr, " %d/%u(->%d)", at.first, at.second, peer(at));
            at = after(at, to);
          }
          fprintf(stderr, "\n");
        }
      }
    }
  }
  // By the tables of now a packet, wherever it is, goes round.
  [[nodiscard]] bool has_loop() const { return any_ends(Fate::goes_round); }
  // By the tables of now a packet, wherever it is, is dropped.
  [[nodiscard]] bool loses_some() const { return any_ends(Fate::dropped); }

 private:
  using Channel = std::pair<int, unsigned>;  // node, port by which packets leave it; they wait in its peer
  static constexpr std::chrono::seconds kLife{2};

  [[nodiscard]] const Subnet::Port& port(const Channel& at) const { return subnet_.node(at.first).ports[at.second]; }
  [[nodiscard]] int peer(const Channel& at) const { return port(at).peer; }
  [[nodiscard]] bool passes(const Channel& at) const {
    const Subnet::Port& out = port(at);
    return out.peer >= 0 && out.state == 4 && subnet_.node(out.peer).ports[out.peer_port].state == 4;
  }
  // By which packets that came through a channel leave its switch; no node: they do not.
  [[nodiscard]] Channel after(const Channel& at, int to) const {
    constexpr Channel kNone{-1, 0};
    const int here = peer(at);
    auto& sw = subnet_.node(here);
    const unsigned lid = subnet_.node(to).ports[1].lid;
    if (!sw.is_switch || lid == 0 || lid > sw.linear_top) return kNone;
    const unsigned out = sw.lft[lid];
    return out == 0 || out >= sw.ports.size() || !passes({here, out}) ? kNone : Channel{here, out};
  }
  enum class Fate : std::uint8_t { arrives, dropped, goes_round };
  [[nodiscard]] Fate fate(Channel at, int to) const {
    constexpr unsigned kMaxHops = 64;
    for (unsigned hops = 0; hops < kMaxHops; ++hops) {
      if (peer(at) == to) return Fate::arrives;
      at = after(at, to);
      if (at.first < 0) return Fate::dropped;
    }
    return Fate::goes_round;
  }
  [[nodiscard]] bool any_ends(Fate end) const {
    for (const auto& [to, places] : places_) {
      for (const auto& [place, since] : places) {
        if (fate(place, to) == end) return true;
      }
    }
    return false;
  }
  template <class Map, class Stays>
  static void forget(Map& map, TimePoint now, Stays stays) {
    std::erase_if(map, [&](const auto& one) { return one.second + kLife <= now || !stays(one.first); });
  }
  // Whether it was earlier, or not at all.
  template <class Map, class Key>
  static bool later(Map& map, const Key& key, TimePoint since) {
    const auto [at, is_new] = map.try_emplace(key, since);
    if (!is_new && at->second >= since) return false;
    at->second = since;
    return true;
  }

  Subnet& subnet_;
  const std::vector<int> adapters_;
  std::map<int, std::map<Channel, TimePoint>> places_;  // by adapter that packets are for: when the last there was sent
  std::map<std::pair<Channel, Channel>, TimePoint> waits_;  // when the last that waited so was sent
};

}  // namespace railweave::control
