// A live subnet whose switches are walked lane by lane, forwarding tables and SL to VL, by the levels that the service says paths have.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "fabric/routing/plane/route_trace.h"
#include "gtest/gtest.h"
#include "tests/unit/live/live_fixture.h"

namespace railweave::control {

class LaneWalkTest : public LiveTest {
 protected:
  // In direct mode.
  void start_on(fabric::TopologyPtr topology) {
    start();
    topology_ = std::move(topology);
    switches_ = std::make_shared<fabric::SimulatedDriver>(topology_);
    must(accept(topology_));
    subnet_ = topology_->name(fabric::SubnetId(0));
    must(SetSubnetMode{subnet_, SubnetMode::direct, "", {}});
    make_controller();
  }

  struct Lanes {
    std::size_t lost = 0, delivered = 0;
    std::set<unsigned> used{};
    bool has_circle = false;
  };
  // Of packets with the levels that their senders are told; as_told: else level 0.
  Lanes lanes(bool as_told = true) {
    const auto routes = routes_now();
    const auto& scope = (*routes)->scope();
    const auto& t = *topology_;
    std::vector<fabric::SwitchId> all(t.switches().begin(), t.switches().end());
    std::map<fabric::SwitchId, std::vector<std::uint16_t>> tables;
    const auto readings = switches_->read_tables(t, all, top_lid(scope));
    for (const auto& reading : *readings) tables[reading.sw] = reading.ports;
    std::map<fabric::PortId, std::map<std::uint8_t, fabric::LaneMap>> maps;
    Lanes walked;
    using Channel = std::pair<fabric::PortId, unsigned>;
    std::map<Channel, std::set<Channel>> next;
    for (const auto from : t.hca_ports()) {
      for (const auto to : t.hca_ports()) {
        if (from == to || !t.peer(from) || !t.peer(to)) continue;
        const auto lid = scope.lid(scope.find(to));
        const auto traced = fabric::trace_route((*routes)->input.view, (*routes)->routing.tables,
                                                (*routes)->routing.lanes, from, scope.find(to));
        const unsigned level = as_told ? traced.service_level : 0;
        auto in = t.peer(from);
        Channel before;
        unsigned hops = 0;
        for (; t.is_switch_port(in) && hops < 64; ++hops) {
          const auto sw = t.switch_of(in);
          const unsigned number = tables[sw][lid];
          if (number == 0 || number > t.ports(sw).size()) break;
          const auto out = t.ports(sw)[number - 1];
          if (!switches_->read_link(t.guid(sw), number).up) break;
          if (t.is_switch_port(t.peer(out))) {
            if (!maps.contains(out)) {
              const fabric::PortRef ref{t.guid(sw), static_cast<std::uint8_t>(number)};
              maps[out] = (*switches_->read_port_tables(std::vector<fabric::PortRef>{ref}))[0].lane_maps;
            }
            const Channel channel{out, maps[out].at(static_cast<std::uint8_t>(t.number(in)))[level]};
            walked.used.insert(channel.second);
            next.try_emplace(channel);
            if (before.first) next[before].insert(channel);
            before = channel;
          }
          in = t.peer(out);
        }
        ++(in == to ? walked.delivered : walked.lost);
      }
    }
    walked.has_circle = has_circle(next);
    return walked;
  }
  template <class Next>
  static bool has_circle(const Next& next) {
    std::map<typename Next::key_type, std::size_t> waits;
    for (const auto& [from, to] : next) {
      waits.try_emplace(from, 0);
      for (const auto& one : to) ++waits[one];
    }
    std::vector<typename Next::key_type> free;
    for (const auto& [one, count] : waits) {
      if (count == 0) free.push_back(one);
    }
    std::size_t done = 0;
    for (; done < free.size(); ++done) {
      const auto one = free[done];
      const auto after = next.find(one);
      if (after == next.end()) continue;
      for (const auto& to : after->second) {
        if (--waits[to] == 0) free.push_back(to);
      }
    }
    return done != waits.size();
  }
  [[nodiscard]] std::vector<JobId> placed() const {
    std::vector<JobId> ids;
    loop_->state()->jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      if (job->holds_gpus()) ids.push_back(job->id);
      return true;
    });
    return ids;
  }
  void settle_for(int seconds) {
    for (int i = 0; i < seconds; ++i) step(1'000);
  }
};

}  // namespace railweave::control
