#include "fabric/capacity/first_hops.h"

#include <algorithm>
#include <cstring>

namespace railweave::fabric {

namespace {
constexpr std::uint32_t kNoBundle = UINT32_MAX;
}

void FirstHops::read(const PlaneTables& tables, std::span<const Source> sources, std::size_t likes,
                     std::span<const std::uint32_t> columns, std::span<const std::uint32_t> own) {
  targets_ = columns.size();
  ports_.clear();
  first_source_.clear();
  unordered_.clear();
  bundle_of_.resize(sources.size());
  last_of_like_.assign(likes, kNoBundle);
  row_.resize(targets_);
  for (std::uint32_t s = 0; s < sources.size(); ++s) {
    const std::size_t row = sources[s].row;
    for (std::size_t k = 0; k < targets_; ++k) row_[k] = tables.at(row, columns[k]);
    std::uint32_t& last = last_of_like_[sources[s].like];
    if (last == kNoBundle || !join(last, s, own)) {
      last = static_cast<std::uint32_t>(first_source_.size());
      first_source_.push_back(s);
      for (std::size_t k = 0; k < targets_; ++k) {
        if (own[k] == s) row_[k] = kUnset;
      }
      ports_.insert(ports_.end(), row_.begin(), row_.end());
    }
    bundle_of_[s] = last;
  }
  order_deviations();
}

// False, and nothing changed, where too many entries differ.
bool FirstHops::join(std::uint32_t bundle, std::uint32_t source, std::span<const std::uint32_t> own) {
  constexpr std::size_t kTogether = 32;
  const std::size_t before = unordered_.size(), most = before + std::max<std::size_t>(2, targets_ / 8);
  std::uint16_t* ports = ports_.data() + bundle * targets_;
  patches_.clear();
  for (std::size_t from = 0; from < targets_; from += kTogether) {
    const std::size_t end = std::min(targets_, from + kTogether);
    if (std::memcmp(ports + from, row_.data() + from, (end - from) * sizeof *ports) == 0) continue;
    for (std::size_t k = from; k < end; ++k) {
      if (ports[k] == row_[k] || own[k] == source) continue;
      if (ports[k] == kUnset) {
        patches_.push_back(static_cast<std::uint32_t>(k));
        continue;
      }
      if (unordered_.size() == most) {
        unordered_.resize(before);
        return false;
      }
      unordered_.push_back({static_cast<std::uint32_t>(k), source, row_[k]});
    }
  }
  for (const std::uint32_t k : patches_) ports[k] = row_[k];
  return true;
}

void FirstHops::order_deviations() {
  first_deviation_.assign(targets_ + 1, 0);
  for (const Deviation& one : unordered_) ++first_deviation_[one.target + 1];
  for (std::size_t k = 0; k < targets_; ++k) first_deviation_[k + 1] += first_deviation_[k];
  deviations_.resize(unordered_.size());
  for (const Deviation& one : unordered_) deviations_[first_deviation_[one.target]++] = one;
  for (std::size_t k = targets_; k > 0; --k) first_deviation_[k] = first_deviation_[k - 1];
  first_deviation_[0] = 0;
}

}  // namespace railweave::fabric
