// Rereads the end ports of adapters in light sweeps, some of them in each: a LID that another program set shows in no
// sign of change. Adapters that do not answer are left for the next full sweep.
#pragma once

#include <functional>

#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/subnet_map.h"

namespace railweave::fabric::infiniband {

class EndPortRecheck {
 public:
  static constexpr std::size_t kMaxPerSweep = 512;  // adapters; larger subnets take several sweeps

  EndPortRecheck(MadPort& port, SubnetMap& map, const ExchangeOptions& options)
      : map_(map), exchange_(port, options.impatient()) {}

  // The adapters whose turn it is by the number of the map's last sweep. Error: the local port failed.
  Result<void> run();
  void on_unasked(std::function<void(const ReceivedMad&)> take) { exchange_.on_unasked(std::move(take)); }
  [[nodiscard]] std::uint64_t sent() const { return exchange_.counts().sent; }
  [[nodiscard]] bool changed() const { return changed_; }

 private:
  void read(std::uint32_t node, std::uint8_t port);

  SubnetMap& map_;
  MadExchange exchange_;
  bool changed_ = false;
};

}  // namespace railweave::fabric::infiniband
