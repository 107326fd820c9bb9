// Looks at a subnet as it is, apart from what the service believes of it: reads tables, ports and what is behind them
// switch by switch, a bounded number of datagrams a second, and walks the tables as read from every leaf to every end
// port. What the walk loses although cables connect it is what the switches themselves say. Of one accepted topology;
// used by the stepping thread, the walk has a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/control/live/links/observed_links.h"
#include "services/control/live/links/subnet_context.h"
#include "services/control/live/routes/route_audit.h"
#include "services/control/live/routes/wanted_routes.h"

namespace railweave::control {

class TruthProbe {
 public:
  // A repair may have to come in between.
  static constexpr std::size_t kMaxPerSlice = 2'048;  // datagrams, about
  static constexpr std::size_t kMaxSwitchesPerSlice = 16;
  static constexpr std::uint64_t kMaxPerSecond = 20'000;

  // walks: outlives topologies.
  TruthProbe(const SubnetContext& context, const SubnetLinks& links, RouteAudit& walks);

  // The switch was written, or its links changed: what was seen of it says nothing any more.
  void touch(fabric::SwitchId sw);
  void touch_all();
  // The next switches to look at: those touched, then those last seen longer than `every_us` ago. may_ask: it can be
  // reached. top: the highest LID that is read.
  std::vector<fabric::SwitchId> due(std::int64_t now_us, std::int64_t every_us, fabric::Lid top,
                                    const std::function<bool(fabric::SwitchId)>& may_ask);
  // like: what is assumed of switches that were never seen.
  // lids: as with_readings() has them.
  void take(std::span<const fabric::SwitchSight> sights, const fabric::Routing& like, std::span<const fabric::Lid> lids,
            std::int64_t now_us);

  // What the walk found. Pairs are of end ports.
  struct Verdict {
    std::uint64_t pairs = 0;
    std::uint64_t lost = 0;           // of them, though cables connect them
    std::size_t links_differing = 0;  // found up and seen down, or the other way round
    std::size_t lids_differing = 0;   // end ports with another LID than tables have entries for
    std::int64_t since_us = 0;        // unix: the oldest sight that it rests on
    std::string text;                 // what differs, naming pairs; "": nothing
  };
  // Every switch that can be reached was seen since it was touched, and something since the last walk.
  [[nodiscard]] bool has_news() const { return seen_ && news_ && missing_ == 0; }
  // Starts the walk over what was seen; view: drains, and states of links that no end was seen of.
  void start_walk(const WantedRoutes& wanted, const ObservedLinks& observed);
  // The walk that finished since this was last asked, unless switches were touched meanwhile.
  std::optional<Verdict> take_walk(const WantedRoutes& wanted);
  // When the switch was last seen, monotonic; 0: not since it was touched.
  [[nodiscard]] std::int64_t seen_us(fabric::SwitchId sw) const { return switches_[sw.index()].seen_us; }

 private:
  struct Switch {
    std::int64_t seen_us = 0, seen_unix_us = 0, tried_us = 0;
  };
  enum class End : std::uint8_t { unseen, up, down };
  struct Cable {
    End a = End::unseen, b = End::unseen;
    fabric::Lid lid = 0;  // of the adapter behind it; 0: none, or it did not answer
  };
  void take_ports(const fabric::SwitchSight& sight);
  [[nodiscard]] std::optional<fabric::LinkState> state_of(std::size_t cable) const;
  [[nodiscard]] std::string pairs_text(const fabric::AuditReport& report, std::uint64_t lost) const;
  void count_lids(const fabric::RoutingScope& scope, Verdict& verdict) const;

  const SubnetContext& context_;
  const SubnetLinks& links_;
  RouteAudit& walks_;
  std::vector<std::uint32_t> cable_of_link_;     // LinkId -> cables(); UINT32_MAX: none
  std::vector<Switch> switches_;                 // by SwitchId
  std::vector<Cable> cables_;                    // as SubnetLinks::cables()
  std::optional<fabric::Routing> seen_;          // tables as read
  std::size_t missing_ = 0;                      // switches asked for and not seen since they were touched
  bool news_ = false;                            // something was seen since the last walk
  std::int64_t next_us_ = 0;                     // when datagrams may be sent again
  std::uint64_t walk_ = 0, wanted_version_ = 0;  // of the walk under way; 0: none
  std::size_t links_differing_ = 0;              // as it was started
};

}  // namespace railweave::control
