// Links that flap count as down until they are calm, so that not every flap reroutes the fabric: route flap damping
// (RFC 2439, section 4) applied to links. Each flap adds a penalty, which decays
// exponentially; above one threshold the link is suppressed, below a lower one it may be used again. No clock, see
// counter_history.h; state of fixed size per link. Used by one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/topology/ids.h"

namespace railweave::fabric::health {

struct DampingOptions {
  // In the proportions that RFC 2439 4.2 and routers use (1000 a flap, suppressed at 2000, used again at 750, half-life
  // 15 min, at most 60 min), with a shorter memory: a cable that is quiet for minutes is most likely good.
  double penalty = 1000;  // per flap
  double suppress_at = 2000;
  double reuse_below = 750;
  std::int64_t half_life_us = 300'000'000;
  // The longest time after its last flap that a link is suppressed, however often it flapped.
  std::int64_t max_suppress_us = 1'800'000'000;
};
// "health.damping"
Result<void> check(const DampingOptions& options);

class LinkDamping {
 public:
  explicit LinkDamping(std::size_t links, const DampingOptions& options = {});  // that check() accepts

  // The link went down (coming up again is not counted). Returns whether it is suppressed now.
  bool flap(LinkId link, std::int64_t at_us);
  [[nodiscard]] bool suppressed(LinkId link, std::int64_t now_us) const {
    return now_us < states_[link.index()].reuse_us;
  }
  // When a suppressed link may be used again, if it does not flap before; in the past: it may.
  [[nodiscard]] std::int64_t reusable_at_us(LinkId link) const { return states_[link.index()].reuse_us; }
  [[nodiscard]] double penalty(LinkId link, std::int64_t now_us) const;
  // For operators: the cable was replaced.
  void forget(LinkId link) { states_[link.index()] = {.listed = states_[link.index()].listed}; }

  // Suppressed links that became calm since the last call, by id; each is returned once.
  std::vector<LinkId> take_reusable(std::int64_t now_us);
  [[nodiscard]] std::size_t suppressed_count(std::int64_t now_us) const;

 private:
  struct State {
    double penalty = 0;  // at at_us
    std::int64_t at_us = 0, reuse_us = 0;
    bool listed = false;  // in suppressed_
  };
  DampingOptions options_;
  double ceiling_;
  std::vector<State> states_;       // by link
  std::vector<LinkId> suppressed_;  // and not yet returned by take_reusable()
};

}  // namespace railweave::fabric::health
