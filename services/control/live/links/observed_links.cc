#include "services/control/live/links/observed_links.h"

#include <utility>

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

ObservedLinks::ObservedLinks(const SubnetLinks& links, const health::DampingOptions& options) : links_(links) {
  if (links.found()) damping_.emplace(links.topology()->links().size(), options);
}

void ObservedLinks::damp(std::vector<LinkState>& states, std::int64_t now_us) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    const bool was_up = i < found_.size() && found_[i] != LinkState::down;
    if (was_up && states[i] == LinkState::down) damping_->flap(links_.cables()[i].link, now_us);
  }
  found_ = states;
  damped_.clear();
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!damping_->suppressed(links_.cables()[i].link, now_us)) continue;
    states[i] = LinkState::down;
    damped_.push_back(i);
  }
}

ObservedLinks::Change ObservedLinks::observe(const FabricDriver& driver, bool bringing_up, std::int64_t now_us,
                                             const FabricView& known) {
  Change change{.is_first = states_.empty()};
  auto states = links_.states(driver, bringing_up, found_);
  damp(states, now_us);
  up_ = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const LinkState before = change.is_first ? known.state(links_.cables()[i].link) : states_[i];
    const bool is_up = states[i] != LinkState::down;
    if (is_up) ++up_;
    if (before == states[i]) continue;
    change.differing.push_back(i);
    if (is_up && !change.is_first) change.returned.push_back(i);
    ++(is_up ? change.back : change.lost);
  }
  states_ = std::move(states);
  return change;
}

}  // namespace railweave::control
