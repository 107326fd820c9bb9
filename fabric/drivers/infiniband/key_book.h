// Which management key each port was found to hold. Used by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "fabric/drivers/management_keys.h"

namespace railweave::fabric::infiniband {

class KeyBook {
 public:
  explicit KeyBook(ManagementKeyOptions options) : options_(std::move(options)) {}

  [[nodiscard]] bool is_on() const { return options_.are_on(); }
  [[nodiscard]] std::uint16_t lease_s() const { return options_.lease_s; }
  // releases: ports give their keys back instead, as another subnet manager takes over.
  void want(std::uint64_t generation, bool releases) {
    generation_ = generation;
    releases_ = releases;
  }

  [[nodiscard]] std::uint64_t wanted(Guid device) const { return releases_ || !is_on() ? 0 : likely(device); }
  // Where keys are on: that of this generation, and all that it may hold instead, this one first.
  [[nodiscard]] std::uint64_t likely(Guid device) const { return options_.secrets.front()(device, generation_); }
  [[nodiscard]] std::vector<std::uint64_t> candidates(Guid device) const {
    return options_.candidates(device, generation_);
  }
  // What datagrams to the port show: the key that it was last found to hold, else the one that it should.
  [[nodiscard]] std::uint64_t shown(PortRef port) const {
    if (!is_on()) return 0;
    const auto found = held_.find(port);
    return found == held_.end() ? wanted(port.device) : found->second;
  }
  [[nodiscard]] bool is_found(PortRef port) const { return held_.contains(port); }
  void found(PortRef port, std::uint64_t key) { held_.insert_or_assign(port, key); }
  void forget(PortRef port) { held_.erase(port); }

 private:
  const ManagementKeyOptions options_;
  std::uint64_t generation_ = 1;
  bool releases_ = false;
  std::map<PortRef, std::uint64_t> held_;
};

}  // namespace railweave::fabric::infiniband
