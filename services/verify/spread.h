// Packets of subnets that spread them over several paths (certificate.md, "Spread"): the part of those from one end port to
// another that leaves by each port. Used by check.cc; by definitions alone, on the walker's tables.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "services/verify/hose.h"
#include "services/verify/walk.h"

namespace railweave::verify {

// By port that sends, in no order.
using PortParts = std::unordered_map<PortNumber, double>;

class SpreadWalk {
 public:
  // how: "lmc" or "adaptive". Borrows all.
  SpreadWalk(const Network& network, const Cabling& cabling, const Walker& walker, const std::string& how)
      : network_(network), cabling_(cabling), walker_(walker), is_adaptive_(how == "adaptive") {}

  // False: some packets do not arrive.
  bool parts(const EndPort& from, const EndPort& to, PortParts& parts);

 private:
  bool flood(const EndPort& from, const EndPort& to, PortParts& parts);
  // To the switch `home` by the tables; -1: packets are lost.
  int hops(std::uint32_t sw, std::uint32_t home, std::uint64_t lid);

  const Network& network_;
  const Cabling& cabling_;
  const Walker& walker_;
  const bool is_adaptive_;
  std::uint64_t hops_lid_ = 0;                   // of hops_
  std::unordered_map<std::uint32_t, int> hops_;  // by switch
  std::vector<PortNumber> path_;
};

// The most that the ports can put on each port, Mb/s, as a bound: the smaller of what its receivers take, each times the
// largest part of any sender, and of what its senders send, each times the largest part to any receiver.
std::unordered_map<PortNumber, std::int64_t> spread_bound(SpreadWalk& walk, const Cabling& cabling,
                                                          const std::vector<EndPort>& ports,
                                                          std::vector<std::pair<std::size_t, std::size_t>>& lost);

// Rounded up; what is above a whole number by the rounding of fractions does not count.
std::int64_t whole_mbps(double mbps);

}  // namespace railweave::verify
