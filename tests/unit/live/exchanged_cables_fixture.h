// A simulated subnet whose cables are exchanged while it runs, walked by hand on the cables that are there.
#pragma once

#include <map>
#include <set>
#include <string>

#include "tests/support/recabled.h"
#include "tests/unit/live/live_fixture.h"

namespace railweave::control {

using fabric::testing::Recabled;

class ExchangedCables : public LiveTest {
 protected:
  void start_tree(SubnetMode mode = SubnetMode::direct, bool use = true) {
    use_swapped_cables_ = use;
    start_live({.hosts_per_leaf = 3, .spines_per_pod = 3, .gpus_per_host = 2}, mode);
    settle();
    truth_ = topology_;
    intended_digest_ = loop_->state()->accepted.digest;
  }
  // What is cabled from now on; switches report it.
  void become(const Recabled& cables) {
    truth_ = cables.build();
    ASSERT_NE(truth_, nullptr);
    std::vector<Guid> all;
    for (const auto sw : truth_->switches()) all.push_back(truth_->guid(sw));
    switches_->become(truth_, all);
    step(1);
  }
  void sweeps(unsigned count) {
    for (unsigned i = 0; i < count; ++i) step(10'000);
    settle();
  }
  [[nodiscard]] const AcceptedTopology& accepted() {
    state_ = loop_->state();
    return state_->accepted;
  }
  [[nodiscard]] std::set<std::string> differing(FabricDifference::Kind kind) const {
    std::set<std::string> subjects;
    for (const auto& difference : status()->differences) {
      if (difference.kind == kind) subjects.insert(difference.subject);
    }
    return subjects;
  }
  [[nodiscard]] std::string alarm_text(const std::string& kind) const {
    std::string text;
    for (const auto& [id, alarm] : *loop_->state()->alarms) {
      if (alarm.kind == kind) text += alarm.text.whole_text() + "\n";
    }
    return text;
  }

  // Events of the kind whose summary has the text.
  [[nodiscard]] std::size_t told(const std::string& kind, const std::string& text) {
    std::size_t count = 0;
    const auto read = db::replay(*journal_, 0, [&](const db::Record& record) -> Result<void> {
      count += record.kind == kind && record.payload.find(text) != std::string::npos ? 1 : 0;
      return {};
    });
    EXPECT_TRUE(read);
    return count;
  }

  // Pairs of adapters that the tables switches hold do not bring together, and the links (of the truth) that carry some.
  struct Walked {
    std::size_t pairs = 0, lost = 0;
    std::size_t round = 0;  // of the lost ones: packets go round until they die
    std::set<std::string> used;
  };
  static constexpr unsigned kMaxHops = 16;
  [[nodiscard]] Walked walk_by_hand() const {
    Walked walked;
    const fabric::Topology& t = *truth_;
    for (const auto from : t.hcas()) {
      for (const auto to : t.hcas()) {
        if (from == to) continue;
        ++walked.pairs;
        const auto lid = switches_->lid(t.guid(to), 1);
        auto at = t.peer(t.ports(from).front());
        std::vector<std::string> links;
        bool arrives = false;
        unsigned hops = 0;
        for (; at && lid != 0 && hops < kMaxHops; ++hops) {
          const auto sw = t.switch_of(at);
          const auto out = switches_->out_port(t.guid(sw), lid);
          if (out == 0 || out > t.ports(sw).size()) break;
          const auto leaving = t.ports(sw)[out - 1];
          const auto next = t.peer(leaving);
          if (!next) break;
          links.push_back(t.link_text(t.link(leaving)));
          if ((arrives = t.hca_of(next) == to)) break;
          at = t.switch_of(next) ? next : fabric::PortId();
        }
        if (arrives) walked.used.insert(links.begin(), links.end());
        walked.lost += arrives ? 0 : 1;
        walked.round += hops == kMaxHops ? 1 : 0;
      }
    }
    return walked;
  }
  void expect_used(const std::vector<std::pair<std::string, unsigned>>& ports) {
    const Walked walked = walk_by_hand();
    EXPECT_GT(walked.pairs, 100U);
    EXPECT_EQ(walked.lost, 0U);
    ASSERT_FALSE(ports.empty());
    for (const auto& [sw, number] : ports) {
      const auto port = truth_->ports(truth_->find_switch(sw))[number - 1];
      EXPECT_TRUE(walked.used.contains(truth_->link_text(truth_->link(port)))) << sw << " port " << number;
    }
    EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
    EXPECT_EQ(status()->links.down, 0U);
  }
  void expect_as_intended() {
    EXPECT_EQ(accepted().intended, nullptr);
    EXPECT_EQ(accepted().digest, intended_digest_);
    EXPECT_EQ(alarms("link.exchanged"), 0U);
    EXPECT_EQ(status()->difference_count, 0U);
  }

  fabric::TopologyPtr truth_;
  ClusterStatePtr state_;
  std::string intended_digest_;
};

}  // namespace railweave::control
