#include "fabric/health/link_damping.h"

#include <algorithm>
#include <cmath>

#include "fabric/base/check.h"

namespace railweave::fabric::health {

namespace {

// RFC 2439 4.2: the penalty from which decay to the reuse threshold takes the longest time allowed.
double ceiling_of(const DampingOptions& options) {
  return options.reuse_below *
         std::exp2(static_cast<double>(options.max_suppress_us) / static_cast<double>(options.half_life_us));
}

}  // namespace

Result<void> check(const DampingOptions& options) {
  const auto wrong = [](const char* what) { return fail(ErrorKind::invalid, "health.damping", what); };
  if (!(options.penalty > 0) || !(options.reuse_below > 0) || options.half_life_us <= 0 ||
      options.max_suppress_us <= 0) {
    return wrong("penalties and times are above 0");
  }
  if (!(options.reuse_below < options.suppress_at)) return wrong("used again at or above where it is suppressed");
  if (!(ceiling_of(options) >= options.suppress_at)) return wrong("the longest time is too short ever to suppress");
  if (!std::isfinite(ceiling_of(options))) return wrong("the longest time is too many half-lives");
  return {};
}

LinkDamping::LinkDamping(std::size_t links, const DampingOptions& options)
    : options_(options), ceiling_(ceiling_of(options)), states_(links) {
  RAILWEAVE_CHECK(check(options).has_value(), "damping options were checked");
}

double LinkDamping::penalty(LinkId link, std::int64_t now_us) const {
  const State& state = states_[link.index()];
  const auto age = static_cast<double>(std::max<std::int64_t>(0, now_us - state.at_us));
  return state.penalty * std::exp2(-age / static_cast<double>(options_.half_life_us));
}

bool LinkDamping::flap(LinkId link, std::int64_t at_us) {
  State& state = states_[link.index()];
  at_us = std::max(at_us, state.at_us);  // reports may arrive out of order
  const bool was_suppressed = at_us < state.reuse_us;
  state.penalty = std::min(penalty(link, at_us) + options_.penalty, ceiling_);
  state.at_us = at_us;
  if (!was_suppressed && state.penalty < options_.suppress_at) return false;
  const double half_lives = std::log2(state.penalty / options_.reuse_below);
  state.reuse_us =
      at_us + static_cast<std::int64_t>(std::ceil(half_lives * static_cast<double>(options_.half_life_us)));
  if (!state.listed) suppressed_.push_back(link);
  state.listed = true;
  return true;
}

std::vector<LinkId> LinkDamping::take_reusable(std::int64_t now_us) {
  std::vector<LinkId> calm;
  std::erase_if(suppressed_, [&](LinkId link) {
    if (suppressed(link, now_us)) return false;
    // Forgotten links are returned, too, so that the caller uses them again.
    states_[link.index()].listed = false;
    calm.push_back(link);
    return true;
  });
  std::ranges::sort(calm);
  return calm;
}

std::size_t LinkDamping::suppressed_count(std::int64_t now_us) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(suppressed_, [&](LinkId link) { return suppressed(link, now_us); }));
}

}  // namespace railweave::fabric::health
