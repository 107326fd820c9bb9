// Repairs that follow each other within a packet's life: packets that met tables from before are followed one by one over the tables that
// come, and at no moment do those on their way and those that are sent wait for each other in a circle.
#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/unit/live/irregular_graph.h"
#include "tests/unit/live/lane_walk_fixture.h"

namespace railweave::control {
namespace packets_on_their_way_test {

using fabric::DestinationId;
using fabric::PortId;
using fabric::SwitchId;

constexpr std::int64_t kPacketLifeUs = 2'000'000;

class PacketsOnTheirWayTest : public LaneWalkTest {
 protected:
  struct Packet {
    PortId in;  // of the switch where it is
    PortId to;
    auto operator<=>(const Packet&) const = default;
  };
  using Packets = std::map<Packet, std::int64_t>;  // until when such are on their way

  void start_graph(std::uint64_t seed) {
    several_lanes_ = false;
    start_on(irregular_graph::graph(seed));
    settle();
    written_ = [this] { see(); };
    see();
  }
  void read() {
    const auto routes = routes_now();
    const auto& scope = (*routes)->scope();
    std::vector<SwitchId> all(topology_->switches().begin(), topology_->switches().end());
    const auto readings = switches_->read_tables(*topology_, all, top_lid(scope));
    for (const auto& one : *readings) tables_[one.sw] = one.ports;
    for (const PortId port : topology_->hca_ports()) lids_[port] = scope.lid(scope.find(port));
  }
  // The port behind the one that the switch sends it to; none: it is dropped.
  [[nodiscard]] PortId next(const Packet& packet) const {
    const SwitchId sw = topology_->switch_of(packet.in);
    const unsigned number = tables_.at(sw)[lids_.at(packet.to)];
    if (number == 0 || number > topology_->ports(sw).size()) return {};
    return switches_->read_link(topology_->guid(sw), number).up ? topology_->peer(topology_->ports(sw)[number - 1])
                                                                : PortId();
  }
  // Adds all that these become.
  void go_on(std::vector<std::pair<Packet, std::int64_t>> queue, Packets& packets) const {
    while (!queue.empty()) {
      const auto [packet, until] = queue.back();
      queue.pop_back();
      const PortId in = next(packet);
      if (!in) continue;  // a switch discards what is for a port that is down
      auto& seen = packets[packet];
      if (seen >= until) continue;
      seen = until;
      if (topology_->is_switch_port(in)) queue.push_back({{in, packet.to}, until});
    }
  }
  // The tables are others now.
  void see() {
    Packets before = std::exchange(packets_, {});
    if (const auto waits = switches_->waits(); waits != waits_) {
      waits_ = waits;
      before.clear();
    }
    read();
    std::vector<std::pair<Packet, std::int64_t>> queue;
    for (const auto& [packet, until] : before) {
      const std::int64_t left = until == INT64_MAX ? now_us_ + kPacketLifeUs : until;
      if (left > now_us_) queue.emplace_back(packet, left);
    }
    on_their_way_ += queue.size();
    for (const PortId from : topology_->hca_ports()) {
      for (const PortId to : topology_->hca_ports()) {
        if (from != to) queue.push_back({{topology_->peer(from), to}, INT64_MAX});
      }
    }
    go_on(std::move(queue), packets_);
    std::map<PortId, std::set<PortId>> waits;
    for (const auto& [packet, until] : packets_) {
      const PortId in = next(packet);
      if (topology_->is_switch_port(in) && topology_->is_switch_port(topology_->peer(packet.in)))
        waits[packet.in].insert(in);
    }
    circles_ += has_circle(waits) ? 1 : 0;
  }

  std::map<SwitchId, std::vector<std::uint16_t>> tables_;
  std::map<PortId, fabric::Lid> lids_;
  Packets packets_;
  std::size_t waits_ = 0, circles_ = 0, on_their_way_ = 0;
};

class Seeds : public PacketsOnTheirWayTest, public ::testing::WithParamInterface<std::uint64_t> {};

TEST_P(Seeds, CloseNoCircleWithThoseThatComeAfterThem) {
  start_graph(GetParam());
  std::mt19937_64 random(GetParam());
  std::vector<Cable> cut_ones;
  for (int i = 0; i < 60; ++i) {
    const bool joins = !cut_ones.empty() && (cut_ones.size() > 5 || random() % 2 == 0);
    if (joins) {
      const auto one = cut_ones.begin() + static_cast<std::ptrdiff_t>(random() % cut_ones.size());
      join(*one);
      cut_ones.erase(one);
    } else {
      cut_ones.push_back(uplink(random() % irregular_graph::kCables));
      cut(cut_ones.back());
    }
    see();
    for (int steps = 0; steps < 3; ++steps) step(40);
  }
  EXPECT_EQ(circles_, 0U);
  EXPECT_GT(on_their_way_, 0U);
}

INSTANTIATE_TEST_SUITE_P(Graphs, Seeds, ::testing::Range<std::uint64_t>(1, 21));

}  // namespace packets_on_their_way_test
}  // namespace railweave::control
