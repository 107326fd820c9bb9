#include "fabric/capacity/hose_load.h"

#include <algorithm>
#include <utility>

#include "fabric/base/check.h"
#include "fabric/capacity/digest_walk.h"
#include "fabric/capacity/egress_map.h"
#include "fabric/capacity/entry_loads.h"
#include "fabric/capacity/link_uses.h"
#include "fabric/capacity/plane_hose.h"
#include "fabric/capacity/set_members.h"
#include "fabric/capacity/set_walk.h"
#include "fabric/capacity/spread_load.h"
#include "fabric/capacity/uneven_links.h"

namespace railweave::fabric {
namespace {

// What a port sends is bounded by what the other ports of its plane receive, and the reverse.
void append_host_links(const Topology& t, const PlaneHose& hose, LoadVector& loads) {
  std::int64_t send = 0, receive = 0;
  for (const HoseTarget& one : hose.targets()) {
    send += one.send_mbps;
    receive += one.receive_mbps;
  }
  for (std::size_t k = 0; k < hose.targets().size(); ++k) {
    const HoseTarget& one = hose.targets()[k];
    const std::int64_t unrouted = hose.groups()[hose.group_of(k)].unrouted_receive_mbps;
    const std::int64_t out = std::min(one.send_mbps, receive - one.receive_mbps - unrouted);
    const std::int64_t in = std::min(one.receive_mbps, send - one.send_mbps - one.unrouted_send_mbps);
    if (out > 0) loads.push_back({directed_link(t, one.port), out});
    if (in > 0) loads.push_back({directed_link(t, t.peer(one.port)), in});
  }
}

}  // namespace

class HoseLoads::Impl {
 public:
  Impl(const FabricView& view, ForwardingTables tables)
      : view_(view),
        tables_(std::move(tables)),
        egress_(view_, tables_.scope()),
        hose_(tables_, egress_),
        uses_(directed_link_count(view_.topology())),
        digest_walk_(view_.topology().switches().size()),
        set_walk_(view_.topology().switches().size()) {}

  [[nodiscard]] HoseLoad load(std::span<const HosePort> ports, HoseMethod method);
  [[nodiscard]] const ForwardingTables& tables() const { return tables_; }
  [[nodiscard]] const FabricView& view() const { return view_; }

 private:
  void find_targets(std::span<const HosePort> ports, std::vector<PortId>& cut_off);
  void load_plane(PlaneId plane, std::span<const HoseTarget> targets, HoseMethod method, HoseLoad& result);
  void load_spread(PlaneId plane, std::span<const HoseTarget> targets, HoseLoad& result) const;
  void note_losses();

  FabricView view_;
  ForwardingTables tables_;
  EgressMap egress_;
  // Scratch of the job and plane at hand.
  std::vector<HoseTarget> targets_;
  PlaneHose hose_;
  LinkUses uses_;
  DigestWalk digest_walk_;
  SetWalk set_walk_;
  EntryLoads entries_;
  std::vector<std::uint32_t> lossy_;  // targets to which packets are lost behind their first hop
};

HoseLoad HoseLoads::Impl::load(std::span<const HosePort> ports, HoseMethod method) {
  HoseLoad result;
  const RoutingScope& scope = tables_.scope();
  find_targets(ports, result.cut_off);
  for (auto first = targets_.begin(); first != targets_.end();) {
    const PlaneId plane = scope.plane_of(first->id);
    auto end = first;
    while (end != targets_.end() && scope.plane_of(end->id) == plane) ++end;
    if (spread_of(view_, scope, plane) == PathSpread::single) {
      load_plane(plane, {first, end}, method, result);
    } else {
      load_spread(plane, {first, end}, result);
    }
    first = end;
  }
  sort_by_link(result.loads);
  return result;
}

// By destination, which puts those of a plane together and, within it, those of a switch.
void HoseLoads::Impl::find_targets(std::span<const HosePort> ports, std::vector<PortId>& cut_off) {
  const Topology& t = view_.topology();
  const RoutingScope& scope = tables_.scope();
  targets_.clear();
  for (const HosePort& port : ports) {
    RAILWEAVE_CHECK(t.is_hca_port(port.port), "hose ports are adapters' ports");
    RAILWEAVE_CHECK(port.send_mbps >= 0 && port.receive_mbps >= 0, "rates are not negative");
    const DestinationId id = scope.find(port.port);
    const LinkId cable = t.link(port.port);
    const bool live = id && cable.valid() && view_.alive(cable);
    if (!live || tables_.out_port(scope.destination(id).home, id) != scope.destination(id).out_port) {
      cut_off.push_back(port.port);
      continue;
    }
    targets_.push_back({.id = id, .port = port.port, .send_mbps = port.send_mbps, .receive_mbps = port.receive_mbps});
  }
  std::ranges::stable_sort(targets_, {}, &HoseTarget::id);
  targets_.erase(std::unique(targets_.begin(), targets_.end(), [](auto& a, auto& b) { return a.id == b.id; }),
                 targets_.end());
}

void HoseLoads::Impl::load_plane(PlaneId plane, std::span<const HoseTarget> targets, HoseMethod method,
                                 HoseLoad& result) {
  // 1. Follow packets from all source groups to each target.
  hose_.read(plane, targets);
  uses_.clear();
  lossy_.clear();
  digest_walk_.start(hose_);
  for (std::uint32_t k = 0; k < targets.size(); ++k) {
    if (!digest_walk_.walk(hose_, k, uses_)) lossy_.push_back(k);
  }
  if (!lossy_.empty()) note_losses();
  // 2. Links at the ends of routes.
  append_host_links(view_.topology(), hose_, result.loads);
  entries_.append(hose_, uses_, result.loads);
  // 3. Links between: in closed form where the same groups cross towards every target.
  UnevenLinks uneven(hose_, uses_);
  for (std::uint32_t i = 0; i < uses_.all().size(); ++i) {
    LinkUses::Use& use = uses_.all()[i];
    use.close();
    if (use.mixed || use.uneven) {
      uneven.add(i);
      continue;
    }
    const std::int64_t load = std::min(use.every.send_mbps, use.receive_mbps);
    if (load > 0) result.loads.push_back({use.link, load});
  }
  if (!uneven.empty()) uneven.solve(set_walk_, method, result);
  result.unrouted += hose_.unrouted();
}

void HoseLoads::Impl::load_spread(PlaneId plane, std::span<const HoseTarget> targets, HoseLoad& result) const {
  std::vector<HosePort> ports;
  for (const HoseTarget& one : targets) ports.push_back({one.port, one.send_mbps, one.receive_mbps});
  const SpreadLoad load = SpreadLoads(view_, tables_, plane).hose(ports);
  result.loads.insert(result.loads.end(), load.loads.begin(), load.loads.end());
  result.unrouted += load.unrouted;
}

void HoseLoads::Impl::note_losses() {
  set_walk_.start(hose_);
  for (const std::uint32_t target : lossy_) {
    set_walk_.walk(hose_, target, [&](DirectedLink link, SetWalk::Set set) {
      if (link != PlaneHose::kNone) return;
      for_each_member(set, [&](std::uint32_t group) { hose_.note_unrouted(target, group); });
    });
  }
}

HoseLoads::HoseLoads(const FabricView& view, ForwardingTables tables)
    : impl_(std::make_unique<Impl>(view, std::move(tables))) {}
HoseLoads::HoseLoads(HoseLoads&&) noexcept = default;
HoseLoads& HoseLoads::operator=(HoseLoads&&) noexcept = default;
HoseLoads::~HoseLoads() = default;

HoseLoad HoseLoads::load(std::span<const HosePort> ports, HoseMethod method) { return impl_->load(ports, method); }
const ForwardingTables& HoseLoads::tables() const { return impl_->tables(); }
const FabricView& HoseLoads::view() const { return impl_->view(); }

}  // namespace railweave::fabric
