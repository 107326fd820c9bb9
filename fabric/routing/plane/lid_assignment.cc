// RoutingScope::assign_lids(): LIDs are per subnet. LIDs that the source knows are kept; the other ports get the lowest
// free ones, in order of destinations, whole blocks of 2^LMC together; switches come last.
#include <algorithm>
#include <array>
#include <bitset>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "fabric/routing/plane/routing_scope.h"

namespace railweave::fabric {

namespace {

class LidSpace {
 public:
  bool claim(std::size_t lid, std::size_t count) {
    if (lid < RoutingScope::kFirstLid || lid + count - 1 > RoutingScope::kLastLid) return false;
    for (std::size_t i = lid; i < lid + count; ++i) {
      if (used_[i]) return false;
    }
    for (std::size_t i = lid; i < lid + count; ++i) used_.set(i);
    return true;
  }
  // The lowest free block, aligned because the LIDs of a port share their upper bits; 0: none is free.
  Lid lowest(std::size_t count) {
    auto& from = next_[count];
    for (from = (from + count - 1) / count * count; from + count - 1 <= RoutingScope::kLastLid; from += count) {
      if (claim(from, count)) return static_cast<Lid>(from);
    }
    return 0;
  }

 private:
  std::bitset<RoutingScope::kLastLid + 1> used_;
  std::array<std::size_t, (1U << RoutingScope::kMaxLmc) + 1> next_ = [] {
    std::array<std::size_t, (1U << RoutingScope::kMaxLmc) + 1> first{};
    first.fill(RoutingScope::kFirstLid);
    return first;
  }();
};

// The base LIDs of one subnet.
class SubnetLids {
 public:
  // Keeps a LID that the source knows, unless another port has it.
  void keep(Lid known, std::size_t count, Lid& lid) {
    if (known == 0) return;
    if (space_->claim(known, count)) {
      lid = known;
    } else {
      ++duplicates_;
    }
  }
  // A free LID for a port without one.
  void assign(Lid& lid, std::size_t count) {
    if (lid == 0) lid = space_->lowest(count);
    if (lid == 0) ++missing_;
  }
  [[nodiscard]] std::size_t duplicates() const { return duplicates_; }
  [[nodiscard]] std::size_t missing() const { return missing_; }

 private:
  std::unique_ptr<LidSpace> space_ = std::make_unique<LidSpace>();
  std::size_t duplicates_ = 0, missing_ = 0;
};

void add_lid_findings(std::size_t duplicates, std::size_t missing, std::vector<Finding>& findings) {
  if (duplicates > 0) {
    findings.push_back({"duplicateLid",
                        Severity::warning,
                        fmt::format("{} ports claim LIDs that other ports have; they get free ones", duplicates),
                        {}});
  }
  if (missing > 0) {
    findings.push_back(
        {"outOfLids",
         Severity::warning,
         fmt::format("{} ports have no LID: a subnet has {} unicast LIDs; split it into planes or subnets", missing,
                     RoutingScope::kLastLid - RoutingScope::kFirstLid + 1),
         {}});
  }
}

std::size_t block(std::size_t lmc) { return std::size_t{1} << std::min(lmc, RoutingScope::kMaxLmc); }

}  // namespace

void RoutingScope::assign_lids() {
  const Topology& t = *topology_;
  lids_.assign(destinations_.size(), 0);
  switch_lids_.assign(t.switches().size(), 0);
  // 1. The switches and end ports of each subnet.
  const std::size_t subnet_count = t.subnets().size() + 1;  // the last: switches without one
  const auto subnet_of = [&](SwitchId sw) { return t.subnet(sw) ? t.subnet(sw).index() : subnet_count - 1; };
  std::vector<std::vector<SwitchId>> switches(subnet_count);
  std::vector<std::vector<DestinationId>> ports(subnet_count);  // the first destination of every end port
  for (const SwitchId sw : t.switches()) switches[subnet_of(sw)].push_back(sw);
  for (const DestinationId id : destinations()) {
    const Destination& d = destination(id);
    if (d.port && d.lid_offset == 0) ports[subnet_of(d.home)].push_back(id);
  }
  // 2. The base LIDs of each subnet: first those that are known, then free ones.
  std::vector<Lid> base(destination_of_port_.size(), 0);
  const auto base_of = [&](PortId port) -> Lid& { return base[port.index() - t.hca_ports().front().index()]; };
  std::size_t duplicates = 0, missing = 0;
  for (std::size_t subnet = 0; subnet < subnet_count; ++subnet) {
    if (switches[subnet].empty()) continue;
    SubnetLids lids;
    for (const SwitchId sw : switches[subnet]) lids.keep(t.lid(sw), block(t.lmc(sw)), switch_lids_[sw.index()]);
    for (const DestinationId id : ports[subnet]) {
      const PortId port = destination(id).port;
      if (!lmc_) lids.keep(t.lid(port), block(t.lmc(port)), base_of(port));
    }
    for (const DestinationId id : ports[subnet]) {
      const PortId port = destination(id).port;
      lids.assign(base_of(port), block(lmc(port)));
    }
    for (const SwitchId sw : switches[subnet]) lids.assign(switch_lids_[sw.index()], block(t.lmc(sw)));
    duplicates += lids.duplicates();
    missing += lids.missing();
  }
  // 3. The LIDs of destinations, by their offset from the base.
  for (const DestinationId id : destinations()) {
    const Destination& d = destination(id);
    const Lid lid = d.port ? base_of(d.port) : switch_lids_[d.home.index()];
    lids_[id.index()] = lid == 0 ? Lid{0} : static_cast<Lid>(lid + d.lid_offset);
  }
  add_lid_findings(duplicates, missing, findings_);
}

}  // namespace railweave::fabric
