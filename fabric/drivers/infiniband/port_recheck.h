// Rereads the ports of switches that reported a change, and nothing else: what a trap says is true within a
// millisecond, without a sweep. Good for links that went down; what came up has to be swept, for nobody knows yet what
// is behind.
#pragma once

#include <functional>
#include <span>

#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/subnet_map.h"

namespace railweave::fabric::infiniband {

class PortRecheck {
 public:
  PortRecheck(MadPort& port, SubnetMap& map, const ExchangeOptions& options);

  // True: the map is as the switches say, routes to what is behind dead links go round them, devices that no way leads
  // to are gone. False: a sweep has to find out (a port came up, a switch does not answer or is not known).
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

// Directed routes anew over the links that the map has, nearest first; what they do not reach is no longer present.
void find_routes(SubnetMap& map);

}  // namespace railweave::fabric::infiniband
