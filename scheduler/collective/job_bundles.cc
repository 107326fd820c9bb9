#include "scheduler/collective/job_bundles.h"

#include <algorithm>
#include <limits>

namespace railweave::scheduler {

namespace {
constexpr double kNoCapacity = 1e250;  // microseconds a byte; infinity times 0 bytes would not be a number
constexpr double kUnreachable = 1e200;
constexpr std::size_t kUnevenUpTo = 1024;  // ranks: larger jobs are not refined
}  // namespace

JobBundles::JobBundles(const FabricBundles& bundles) : bundles_(bundles) {
  local_pair_.resize(bundles.bundle_count() / 2);
  local_unit_.resize(bundles.unit_count());
  gpus_of_uplink_.resize(bundles.bundle_count() / 2 - bundles.first_uplink(), 0);
  const auto wan = static_cast<std::ptrdiff_t>(bundles.first_wan() - bundles.first_uplink());
  std::fill(gpus_of_uplink_.begin() + wan, gpus_of_uplink_.end(), static_cast<std::uint32_t>(bundles.places().size()));
  for (const FabricBundles::Place& place : bundles.places()) {
    for (const BundlePair pair : {place.leaf, place.pod}) {
      if (pair != FabricBundles::kNone) ++gpus_of_uplink_[pair - bundles.first_uplink()];
    }
  }
}

// For a pair that is new in this job. Separate from local_pair(), so that the common case is a comparison.
[[gnu::noinline]] BundlePair JobBundles::add_pair(BundlePair pair) {
  const auto local = static_cast<BundlePair>(pair_of_.size());
  local_pair_[pair] = {job_, local};
  pair_of_.push_back(pair);
  const double behind = pair < bundles_.first_uplink() ? 0 : gpus_of_uplink_[pair - bundles_.first_uplink()];
  gpus_behind_.push_back(behind);
  gpus_behind_.push_back(behind);
  for (std::size_t b = std::size_t{2} * pair; b < std::size_t{2} * pair + 2; ++b) {
    const double mbps = residual_mbps_.empty() ? capacity_mbps_[b] : std::min(capacity_mbps_[b], residual_mbps_[b]);
    us_per_byte_.push_back(mbps > 0 ? 8 / mbps : kNoCapacity);
  }
  return local;
}

inline BundlePair JobBundles::local_pair(BundlePair pair) {
  if (pair == FabricBundles::kNone) return FabricBundles::kNone;
  const Numbered& known = local_pair_[pair];
  return known.stamp == job_ ? known.local : add_pair(pair);
}

void JobBundles::set_job(std::span<const fabric::GpuId> gpu_of_rank, std::span<const double> capacity_mbps,
                         std::span<const double> residual_mbps, const NetworkParts& parts) {
  capacity_mbps_ = capacity_mbps;
  residual_mbps_ = residual_mbps;
  ++job_;
  unit_count_ = 0;
  pair_of_.assign(1, FabricBundles::kNone);
  us_per_byte_.assign(2, kNoCapacity);
  gpus_behind_.assign(2, 0);
  spans_sites_ = false;
  spots_.resize(gpu_of_rank.size());
  for (std::size_t r = 0; r < spots_.size(); ++r) {
    const FabricBundles::Place& place = bundles_.place(gpu_of_rank[r]);
    Numbered& unit = local_unit_[place.unit];
    if (unit.stamp != job_) unit = {job_, unit_count_++};
    spots_[r] = {.unit = unit.local,
                 .nvlink = place.domain == FabricBundles::kNone ? FabricBundles::kNone : local_pair(place.nvlink),
                 .nic = local_pair(place.nic),
                 .leaf = local_pair(place.leaf),
                 .pod = local_pair(place.pod),
                 .host = place.host,
                 .leaf_group = place.leaf_group,
                 .rail = place.rail,
                 .network = place.network,
                 .site = place.site,
                 .reduces = place.reduces};
    spans_sites_ = spans_sites_ || place.site != spots_.front().site;
  }
  if (spans_sites_) {
    local_wan_.clear();
    for (BundlePair pair = bundles_.first_wan(); pair < bundles_.bundle_count() / 2; ++pair) {
      local_wan_.push_back(local_pair(pair));
    }
  }
  us_per_byte_.resize((us_per_byte_.size() + kLanes - 1) / kLanes * kLanes, 0);
  gpus_behind_.resize(us_per_byte_.size(), 0);
  load_.assign(us_per_byte_.size(), 0);
  cut_.reset();
  parts_matter_ = !parts.all_alike();
  if (parts_matter_) set_parts(gpu_of_rank, parts);
}

void JobBundles::set_parts(std::span<const fabric::GpuId> gpu_of_rank, const NetworkParts& parts) {
  const auto first = parts.of(gpu_of_rank.front());
  parts_matter_ = first.size() != 1 || !std::ranges::all_of(gpu_of_rank, [&](fabric::GpuId gpu) {
                    const auto own = parts.of(gpu);
                    return own.size() == 1 && own.front() == first.front();
                  });
  if (!parts_matter_) return;
  part_words_ = (parts.all().size() + 63) / 64;
  parts_of_rank_.assign(spots_.size() * part_words_, 0);
  parts_of_unit_.assign(unit_count_ * part_words_, 0);
  for (std::size_t r = 0; r < spots_.size(); ++r) {
    for (const std::uint32_t part : parts.of(gpu_of_rank[r])) {
      const auto number = static_cast<std::size_t>(std::ranges::lower_bound(parts.all(), part) - parts.all().begin());
      const std::uint64_t bit = std::uint64_t{1} << number % 64;
      parts_of_rank_[r * part_words_ + number / 64] |= bit;
      parts_of_unit_[spots_[r].unit * part_words_ + number / 64] |= bit;
    }
  }
}

bool JobBundles::reaches_over_parts(const Spot& from, const Spot& to) const {
  const std::uint64_t* const sends = &parts_of_unit_[from.unit * part_words_];
  const std::uint64_t* const receives = &parts_of_rank_[static_cast<std::size_t>(&to - spots_.data()) * part_words_];
  bool sends_any = false, receives_any = false;
  for (std::size_t w = 0; w < part_words_; ++w) {
    if ((sends[w] & receives[w]) != 0) return true;
    sends_any = sends_any || sends[w] != 0;
    receives_any = receives_any || receives[w] != 0;
  }
  return from.site != to.site && sends_any && receives_any && !bundles_.site_route(from.site, to.site).bundles.empty();
}

void JobBundles::add_hop(const Spot& from, const Spot& to, double bytes, double nvlink_bytes) {
  if (from.unit == to.unit) {
    if (from.nvlink == FabricBundles::kNone || &from == &to) return;  // PCIe and memory have no bundle
    add(from.nvlink, 0, nvlink_bytes);
    add(to.nvlink, 1, nvlink_bytes);
    return;
  }
  if (from.host == to.host) return;
  if (from.leaf == FabricBundles::kNone || to.leaf == FabricBundles::kNone || !reaches(from, to)) {
    return add_unreachable(from, to, bytes);
  }
  add(from.nic, 0, bytes);
  add(to.nic, 1, bytes);
  if (from.leaf == to.leaf || (from.network != to.network && from.leaf_group == to.leaf_group)) return;
  add(from.leaf, 0, bytes);
  add(to.leaf, 1, bytes);
  if (from.site != to.site) {
    if (from.pod != FabricBundles::kNone) add(from.pod, 0, bytes);
    if (to.pod != FabricBundles::kNone) add(to.pod, 1, bytes);
    return add_between_sites(from, to, bytes);
  }
  if (from.pod == FabricBundles::kNone || to.pod == FabricBundles::kNone || from.pod == to.pod) return;
  add(from.pod, 0, bytes);
  add(to.pod, 1, bytes);
}

void JobBundles::add_between_sites(const Spot& from, const Spot& to, double bytes) {
  const FabricBundles::SiteRoute& route = bundles_.site_route(from.site, to.site);
  if (route.bundles.empty()) return add_unreachable(from, to, bytes);
  for (const std::uint32_t bundle : route.bundles) {
    add(local_wan_[bundle / 2 - bundles_.first_wan()], bundle % 2, bytes);
  }
}

void JobBundles::append_phases(bool back, GroupLoad& into) const {
  into.phases.assign(back ? 2 : 1, {});
  for (std::uint32_t i = 0; i < std::uint32_t{2} * static_cast<std::uint32_t>(pair_of_.size()); ++i) {
    if (load_[i] <= 0 || i / 2 == kUnjoined) continue;
    const std::uint32_t bundle = 2 * pair_of_[i / 2] + i % 2;
    into.phases[0].push_back({bundle, load_[i], 1});
    if (back) into.phases[1].push_back({bundle ^ 1U, load_[i], 1});
  }
}

JobBundles::Worst JobBundles::take_worst() {
  // Four side by side: a single maximum or sum would make each step wait for the one before.
  static_assert(kLanes == 4);
  double a = 0, b = 0, c = 0, d = 0;
  double behind_a = 0, behind_b = 0, behind_c = 0, behind_d = 0;
  for (std::size_t i = 0; i < load_.size(); i += kLanes) {
    a = std::max(a, load_[i] *= us_per_byte_[i]);
    b = std::max(b, load_[i + 1] *= us_per_byte_[i + 1]);
    c = std::max(c, load_[i + 2] *= us_per_byte_[i + 2]);
    d = std::max(d, load_[i + 3] *= us_per_byte_[i + 3]);
    behind_a += load_[i] * gpus_behind_[i];
    behind_b += load_[i + 1] * gpus_behind_[i + 1];
    behind_c += load_[i + 2] * gpus_behind_[i + 2];
    behind_d += load_[i + 3] * gpus_behind_[i + 3];
  }
  Worst worst{.transfer_us = std::max(std::max(a, b), std::max(c, d))};
  worst.uplink_gpu_us = behind_a + behind_b + behind_c + behind_d;
  if (spots_.size() <= kUnevenUpTo) {
    for (const double us : load_) worst.squares += us * us;
  }
  const auto at = static_cast<std::size_t>(std::ranges::find(load_, worst.transfer_us) - load_.begin());
  std::ranges::fill(load_, 0);
  if (worst.transfer_us > 0 && at / 2 != kUnjoined) {
    worst.bundle = 2 * pair_of_[at / 2] + static_cast<std::uint32_t>(at % 2);
  }
  if (worst.transfer_us > kUnreachable) worst.transfer_us = std::numeric_limits<double>::infinity();
  return worst;
}

}  // namespace railweave::scheduler
