#include "fabric/capacity/ledger.h"

#include <algorithm>

#include "fabric/base/check.h"

namespace railweave::fabric {

Ledger::Ledger(std::vector<std::int64_t> capacity_mbps, CapacityRules rules)
    : capacity_(std::make_shared<const std::vector<std::int64_t>>(std::move(capacity_mbps))),
      rules_(std::move(rules)),
      reserved_(capacity_->size() * rules_.class_permille.size()),
      lanes_(capacity_->size()) {}

std::int64_t Ledger::limit_mbps(DirectedLink link, std::uint8_t qos_class) const {
  return (*capacity_)[link] * rules_.usable_permille / 1000 * rules_.class_permille[qos_class] / 1000;
}

std::vector<FullLink> Ledger::full_links(const LoadVector& loads, std::uint8_t qos_class, std::size_t at_most) const {
  std::vector<FullLink> full;
  for (const LinkLoad& load : loads) {
    const std::int64_t limit = limit_mbps(load.link, qos_class);
    const std::int64_t reserved = reserved_mbps(load.link, qos_class);
    if (reserved + load.mbps <= limit) continue;
    FullLink one{.link = load.link, .wanted_mbps = load.mbps, .reserved_mbps = reserved, .limit_mbps = limit};
    for (const auto& [key, reservation] : *table_) {
      if (key.second != qos_class) continue;
      if (const std::int64_t mbps = load_on(reservation->loads, load.link)) one.holders.push_back({key.first, mbps});
    }
    std::ranges::stable_sort(one.holders, std::greater<>(), &FullLink::Holder::mbps);
    if (one.holders.size() > FullLink::kMaxHolders) one.holders.resize(FullLink::kMaxHolders);
    full.push_back(std::move(one));
    if (full.size() == at_most) break;
  }
  return full;
}

void Ledger::add(const Reservation& reservation, std::int64_t sign) {
  for (const LinkLoad& load : reservation.loads) {
    std::int64_t& sum = reserved_.write(load.link * classes() + reservation.qos_class);
    sum += sign * load.mbps;
    RAILWEAVE_CHECK(sum >= 0, "no more is released than was reserved");
  }
  if (!reservation.lane) return;
  const auto bit = static_cast<std::uint16_t>(1U << *reservation.lane);
  for (const LinkLoad& load : reservation.loads) {
    std::uint16_t& lanes = lanes_.write(load.link);
    RAILWEAVE_CHECK(((lanes & bit) == 0) == (sign > 0), "a lane has one owner on a link");
    lanes = static_cast<std::uint16_t>(lanes ^ bit);
  }
}

void Ledger::reserve(ReservationPtr reservation) {
  RAILWEAVE_CHECK(reservation->qos_class < classes(), "the class is one of the plan's");
  const bool added = table_.write().emplace(Key{reservation->job, reservation->qos_class}, reservation).second;
  RAILWEAVE_CHECK(added, "a job reserves once in a class");
  add(*reservation, 1);
}

ReservationPtr Ledger::release(std::string_view job, std::uint8_t qos_class) {
  const Key key{std::string(job), qos_class};
  if (!table_->contains(key)) return nullptr;
  const auto at = table_.write().find(key);
  ReservationPtr released = at->second;
  table_.write().erase(at);
  add(*released, -1);
  return released;
}

ReservationPtr Ledger::find(std::string_view job, std::uint8_t qos_class) const {
  const auto at = table_->find(Key{std::string(job), qos_class});
  return at == table_->end() ? nullptr : at->second;
}

std::vector<ReservationPtr> Ledger::reservations() const {
  std::vector<ReservationPtr> all;
  for (const auto& [key, reservation] : *table_) all.push_back(reservation);
  return all;
}

std::vector<ReservationPtr> Ledger::reservations_of(std::string_view job) const {
  std::vector<ReservationPtr> all;
  for (auto at = table_->lower_bound(Key{std::string(job), 0}); at != table_->end() && at->first.first == job; ++at) {
    all.push_back(at->second);
  }
  return all;
}

void Ledger::set_capacity(std::vector<std::int64_t> capacity_mbps) {
  RAILWEAVE_CHECK(capacity_mbps.size() == links(), "capacities are of the same fabric");
  capacity_ = std::make_shared<const std::vector<std::int64_t>>(std::move(capacity_mbps));
}

std::vector<std::int64_t> whole_capacities_mbps(const FabricView& view) {
  std::vector<std::int64_t> whole;
  for (const double mbps : link_capacities_mbps(view)) whole.push_back(static_cast<std::int64_t>(mbps));
  return whole;
}

}  // namespace railweave::fabric
