// Rereads only the ports of switches that reported a change: the map is right a millisecond after a trap, without a
// sweep. Suffices for links that went down; behind links that came up there may be unknown devices, which takes a
// sweep.
#pragma once

#include <functional>
#include <span>

#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/subnet_map.h"

namespace railweave::fabric::infiniband {

class PortRecheck {
 public:
  PortRecheck(MadPort& port, SubnetMap& map, const ExchangeOptions& options);

  // True: the map is as the switches report, directed routes avoid dead links, and unreachable devices are no longer
  // present. False: it takes a sweep (a port came up, a switch does not answer or is not known).
  Result<bool> run(std::span<const Guid> switches);
  void on_unasked(std::function<void(const ReceivedMad&)> take) { exchange_.on_unasked(std::move(take)); }
  [[nodiscard]] std::uint64_t sent() const { return exchange_.counts().sent; }
  [[nodiscard]] bool changed() const { return changed_; }

 private:
  void read(std::uint32_t node);
  void took(std::uint32_t node, std::uint8_t port, const PortInfo& info);

  SubnetMap& map_;
  MadExchange exchange_;
  bool enough_ = true, changed_ = false;
};

// Computes all directed routes again over the links of the map, nearest first; unreached devices are no longer present.
void find_routes(SubnetMap& map);

}  // namespace railweave::fabric::infiniband
