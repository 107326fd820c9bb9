// The switches that packets to one target have reached after the same number of hops, each once, with a value that sums
// up what arrived there. Scratch memory, kept from target to target.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace railweave::fabric {

template <class Value>
class HoseFrontier {
 public:
  struct Arrival {
    std::uint32_t sw = 0;
    Value value{};
  };

  explicit HoseFrontier(std::size_t switches) : slots_(switches) {}

  void clear() {
    next_.clear();
    ++token_;
  }
  // What arrived at the next hop becomes the present one.
  void advance() {
    std::swap(present_, next_);
    clear();
  }
  [[nodiscard]] const std::vector<Arrival>& present() const { return present_; }
  [[nodiscard]] bool empty() const { return next_.empty(); }  // nothing arrives at the next hop

  // What arrives at a switch at the next hop; Value{} when it is the first. Valid until the next call.
  [[nodiscard]] Value& at(std::uint32_t sw) {
    Slot& slot = slots_[sw];
    if (slot.token != token_) {
      slot = {token_, static_cast<std::uint32_t>(next_.size())};
      next_.push_back({sw, {}});
    }
    return next_[slot.arrival].value;
  }

 private:
  struct Slot {
    std::uint32_t token = 0;  // of the hop that `arrival` is of
    std::uint32_t arrival = 0;
  };
  std::vector<Slot> slots_;  // by switch
  std::uint32_t token_ = 0;
  std::vector<Arrival> present_, next_;
};

}  // namespace railweave::fabric
