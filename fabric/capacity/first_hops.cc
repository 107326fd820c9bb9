#include "fabric/capacity/first_hops.h"

#include <algorithm>

namespace railweave::fabric {

void FirstHops::read(const PlaneTables& tables, std::span<const Source> sources, std::span<const std::uint32_t> columns,
                     std::span<const std::uint32_t> own) {
  targets_ = columns.size();
  ++token_;
  ports_.clear();
  switch_.clear();
  on_representative_.clear();
  unordered_.clear();
  bundle_of_.resize(sources.size());
  if (target_of_column_.size() < tables.destinations()) target_of_column_.resize(tables.destinations());
  for (std::uint32_t k = 0; k < columns.size(); ++k) target_of_column_[columns[k]] = {token_, k};
  for (std::uint32_t s = 0; s < sources.size(); ++s) {
    const Source& source = sources[s];
    const Difference difference = difference_from_representative(tables, source);
    const Source& representative = representatives_[difference.representative];
    bundle_of_representative_.resize(representatives_.size());
    Numbered& known = bundle_of_representative_[difference.representative];
    if (known.token != token_) known = {token_, new_bundle(tables, representative, columns)};
    const std::uint32_t bundle = known.number;
    bundle_of_[s] = bundle;
    if (representative.sw == source.sw) continue;
    std::uint16_t* ports = ports_.data() + bundle * targets_;
    const auto note = [&](std::uint32_t k) {
      const std::uint16_t port = tables.at(source.row, columns[k]);
      if (ports[k] == kUnset) {
        ports[k] = port;
      } else if (ports[k] != port && own[k] != s) {
        unordered_.push_back({k, s, port});
      }
    };
    for (std::uint32_t k = on_representative_[bundle].first; k < on_representative_[bundle].end; ++k) note(k);
    for (std::uint32_t i = difference.first; i < difference.first + difference.count; ++i) {
      const Numbered target = target_of_column_[differing_[i]];
      if (target.token == token_) note(target.number);
    }
  }
  order_deviations();
}

std::uint32_t FirstHops::new_bundle(const PlaneTables& tables, const Source& representative,
                                    std::span<const std::uint32_t> columns) {
  const auto bundle = static_cast<std::uint32_t>(switch_.size());
  const auto at = [&](std::uint32_t column) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(columns, column) - columns.begin());
  };
  switch_.push_back(representative.sw);
  on_representative_.push_back(
      {at(representative.first_column), at(representative.first_column + representative.column_count)});
  ports_.resize(ports_.size() + targets_);
  std::uint16_t* ports = ports_.data() + bundle * targets_;
  for (std::size_t k = 0; k < targets_; ++k) ports[k] = tables.at(representative.row, columns[k]);
  std::fill(ports + on_representative_.back().first, ports + on_representative_.back().end, kUnset);
  return bundle;
}

const FirstHops::Difference& FirstHops::difference_from_representative(const PlaneTables& tables,
                                                                       const Source& source) {
  Difference& difference = differences_[source.sw];
  if (difference.representative != kNone) return difference;
  std::uint32_t& representative = representative_of_class_[source.switch_class];
  if (representative == kNone || !compare(tables, source, representatives_[representative])) {
    representative = static_cast<std::uint32_t>(representatives_.size());
    representatives_.push_back(source);
  }
  difference.representative = representative;
  return difference;
}

// Keeps where the rows differ. False, with nothing kept: they differ too much for one bundle.
bool FirstHops::compare(const PlaneTables& tables, const Source& source, const Source& representative) {
  constexpr std::size_t kBlock = 64;  // divides every tile
  const std::size_t before = differing_.size(), limit = before + std::max<std::size_t>(2, tables.destinations() / 16);
  const auto on = [](const Source& sw, std::size_t column) { return column - sw.first_column < sw.column_count; };
  const std::size_t tile = tables.tile_entries();
  for (std::size_t first = 0; first < tables.destinations(); first += tile) {
    const std::size_t end = std::min(tables.destinations(), first + tile);
    if (tables.same_entries(source.row, representative.row, first, end - first)) continue;
    for (std::size_t block = first; block < end; block += kBlock) {
      const std::size_t block_end = std::min(end, block + kBlock);
      if (tables.same_entries(source.row, representative.row, block, block_end - block)) continue;
      for (std::size_t column = block; column < block_end; ++column) {
        if (on(source, column) || on(representative, column)) continue;
        if (tables.at(source.row, column) == tables.at(representative.row, column)) continue;
        if (differing_.size() == limit) {
          differing_.resize(before);
          return false;
        }
        differing_.push_back(static_cast<std::uint32_t>(column));
      }
    }
  }
  Difference& difference = differences_[source.sw];
  difference.first = static_cast<std::uint32_t>(before);
  difference.count = static_cast<std::uint32_t>(differing_.size() - before);
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
