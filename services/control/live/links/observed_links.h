// The state of one subnet's links as observed, the rates that they run at, and which of those that flap are held out of use until they are calm: none
// that anything needs (fabric/health/held_links.h). Of one accepted topology; used by the stepping thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "fabric/health/held_links.h"
#include "fabric/health/link_damping.h"
#include "fabric/health/link_flaps.h"
#include "services/control/live/links/seen_rates.h"
#include "services/control/live/links/subnet_links.h"

namespace railweave::control {

class ObservedLinks {
 public:
  ObservedLinks(const SubnetLinks& links, const fabric::health::DampingOptions& options);

  struct Change {
    bool is_first = false;  // nothing was observed before
    std::size_t lost = 0, back = 0;
    std::vector<std::size_t> differing;      // of cables()
    std::vector<std::size_t> returned;       // of these: their devices may have lost what was written to them
    std::vector<std::size_t> other_rate;     // of cables(): they run faster or more slowly than before
    [[nodiscard]] std::string text() const;  // "2 links down, 1 back"
  };
  struct Moment {
    std::int64_t now_us = 0;   // monotonic
    std::int64_t unix_us = 0;  // the same
  };
  // Reads the links as the driver last found them. `known`: the states before the first observation, and drains. may_hold:
  // what this service writes is what routes packets, so that a link that is held is out of use.
  Change observe(const fabric::FabricDriver& driver, bool bringing_up, Moment at, const fabric::FabricView& known,
                 bool may_hold);
  // The next observation is the first again; what flapped is remembered.
  void forget() { states_.clear(); }

  [[nodiscard]] bool empty() const { return states_.empty(); }
  // As SubnetLinks::cables(), held ones down; empty: not observed yet.
  [[nodiscard]] std::span<const fabric::LinkState> states() const { return states_; }
  [[nodiscard]] bool was_found_down(std::size_t cable) const { return found_[cable] == fabric::LinkState::down; }
  [[nodiscard]] LinkCounts counts() const;
  // Cables of which neither end was seen, as the devices there do not answer: their states are those of before.
  [[nodiscard]] UnseenLinks unseen() const;

  // Those that flap: held out of use, or used all the same.
  [[nodiscard]] std::span<const FlappingCable> flapping() const { return flapping_; }
  [[nodiscard]] std::size_t held() const { return held_; }
  // Pairs of end ports that are joined by links that are up and not drained, and not without the held ones.
  [[nodiscard]] std::uint64_t pairs_lost_by_held() const { return pairs_lost_; }
  // "": nothing is held. For the phase.
  [[nodiscard]] std::string held_text() const;
  // A link that flaps became calm: to be observed again.
  [[nodiscard]] bool is_calm(std::int64_t now_us) const { return calm_at_us_ && now_us >= *calm_at_us_; }
  [[nodiscard]] bool is_any_flapping() const { return !flapping_.empty(); }
  // Switches that lost all their cables and came back, as often as makes a link one that flaps.
  [[nodiscard]] std::span<const fabric::health::Flapping<fabric::SwitchId>> restarting() const { return restarting_; }

  // For operators: its flaps are forgotten. Takes effect with the next observation, as the following.
  void release(fabric::LinkId link) { damping_->forget(link); }
  // There are no routes to be written without what is held: it is used until it is calm.
  void use_all();
  [[nodiscard]] const SeenRates& rates() const { return rates_; }
  // As SubnetLinks::misled() has them.
  [[nodiscard]] const std::vector<fabric::LinkId>& misled() const { return misled_; }

 private:
  void note_sights(const fabric::FabricDriver& driver, std::int64_t unix_us);
  void count_flaps(std::int64_t now_us);
  void hold(std::vector<fabric::LinkState>& states, Moment at, const fabric::FabricView& drains, bool may_hold);

  const SubnetLinks& links_;
  const fabric::health::DampingOptions options_;
  // None: the topology has no such subnet.
  std::optional<fabric::health::LinkDamping> damping_;
  std::optional<fabric::health::FlapDamping<fabric::SwitchId>> restarts_;
  std::optional<fabric::health::LinkFlaps> flaps_;
  std::vector<std::size_t> cable_of_;              // by LinkId
  std::vector<fabric::LinkState> states_, found_;  // with held ones down, and as found
  std::vector<bool> is_seen_;                      // as cables()
  std::vector<std::int64_t> seen_us_;              // when it last was, unix; 0: never
  std::vector<FlappingCable> flapping_;
  std::set<fabric::LinkId> not_held_;  // that use_all() is about
  std::vector<fabric::health::Flapping<fabric::SwitchId>> restarting_;
  std::optional<std::int64_t> calm_at_us_;
  std::uint64_t pairs_lost_ = 0;
  std::size_t held_ = 0;
  SeenRates rates_;
  std::vector<fabric::LinkId> misled_;
};

}  // namespace railweave::control
