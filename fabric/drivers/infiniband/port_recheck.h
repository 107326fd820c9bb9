// Rereads only the ports of switches that reported a change: the map is right a millisecond after a trap, without a
// sweep. Suffices for links that went down; behind links that came up there may be unknown devices, which takes a
// sweep. A switch that lost a cable without a report may be gone as a whole, and its neighbours' reports with it, as their
// paths led through it: the other ends of its cables are read, too.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/subnet_map.h"

namespace railweave::fabric::infiniband {

class PortRecheck {
 public:
  PortRecheck(MadPort& port, SubnetMap& map, const ExchangeOptions& options);

  // True: the map is as the switches report, directed routes avoid dead links, and unreachable devices are no longer
  // present. False: it takes a sweep (a port came up, a switch does not answer or is not known).
  // gone: switches that do not answer; they are not asked, their neighbours are.
  Result<bool> run(std::span<const Guid> switches, std::span<const Guid> gone);
  void on_unasked(std::function<void(const ReceivedMad&)> take) { exchange_.on_unasked(std::move(take)); }
  [[nodiscard]] std::uint64_t sent() const { return exchange_.counts().sent; }
  [[nodiscard]] bool changed() const { return changed_; }

 private:
  using End = std::pair<std::uint32_t, std::uint8_t>;  // node, port

  [[nodiscard]] std::size_t hops(std::uint32_t node) const { return map_.nodes[node].route.hops(); }
  void read_nearest();
  void read(std::uint32_t node);
  void read_end(End end);
  void doubt(std::uint32_t node);
  void doubt_quiet_peers();
  void took(std::uint32_t node, std::uint8_t port, const PortInfo& info);

  SubnetMap& map_;
  MadExchange exchange_;
  std::vector<std::uint32_t> reporting_;   // nodes
  std::vector<std::uint32_t> nodes_;       // of them those that are to be read
  std::vector<End> ends_;                  // to be read: where cables of doubted nodes lead
  std::vector<std::uint32_t> doubted_;     // nodes
  std::vector<std::uint32_t> lost_peers_;  // nodes behind links that this recheck found down
  bool enough_ = true, changed_ = false;
};

// Computes all directed routes again over the links of the map, nearest first; unreached devices are no longer present.
void find_routes(SubnetMap& map);

}  // namespace railweave::fabric::infiniband
