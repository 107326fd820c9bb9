#include "fabric/capacity/first_hops.h"

#include <algorithm>

namespace railweave::fabric {

void FirstHops::read(const PlaneTables& tables, std::span<const Source> sources, std::span<const std::uint32_t> columns,
                     std::span<const std::uint32_t> own) {
  targets_ = columns.size();
  ++token_;
  ports_.clear();
  switch_.clear();
  on_chief_.clear();
  unordered_.clear();
  bundle_of_.resize(sources.size());
  if (target_of_column_.size() < tables.destinations()) target_of_column_.resize(tables.destinations());
  for (std::uint32_t k = 0; k < columns.size(); ++k) target_of_column_[columns[k]] = {token_, k};
  for (std::uint32_t s = 0; s < sources.size(); ++s) {
    const Source& source = sources[s];
    const Kin kin = kin_of(tables, source);
    const Source& chief = chiefs_[kin.chief];
    bundle_of_chief_.resize(chiefs_.size());
    Numbered& known = bundle_of_chief_[kin.chief];
    if (known.token != token_) known = {token_, new_bundle(tables, chief, columns)};
    const std::uint32_t bundle = known.number;
    bundle_of_[s] = bundle;
    if (chief.sw == source.sw) continue;
    std::uint16_t* ports = ports_.data() + bundle * targets_;
    const auto note = [&](std::uint32_t k) {
      const std::uint16_t port = tables.at(source.row, columns[k]);
      if (ports[k] == kUnset) {
        ports[k] = port;
      } else if (ports[k] != port && own[k] != s) {
        unordered_.push_back({k, s, port});
      }
    };
    for (std::uint32_t k = on_chief_[bundle].first; k < on_chief_[bundle].end; ++k) note(k);
    for (std::uint32_t i = kin.first; i < kin.first + kin.count; ++i) {
      const Numbered target = target_of_column_[differing_[i]];
      if (target.token == token_) note(target.number);
    }
  }
  order_deviations();
}

std::uint32_t FirstHops::new_bundle(const PlaneTables& tables, const Source& chief,
                                    std::span<const std::uint32_t> columns) {
  const auto bundle = static_cast<std::uint32_t>(switch_.size());
  const auto at = [&](std::uint32_t column) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(columns, column) - columns.begin());
  };
  switch_.push_back(chief.sw);
  on_chief_.push_back({at(chief.first_column), at(chief.first_column + chief.column_count)});
  ports_.resize(ports_.size() + targets_);
  std::uint16_t* ports = ports_.data() + bundle * targets_;
  for (std::size_t k = 0; k < targets_; ++k) ports[k] = tables.at(chief.row, columns[k]);
  std::fill(ports + on_chief_.back().first, ports + on_chief_.back().end, kUnset);
  return bundle;
}

const FirstHops::Kin& FirstHops::kin_of(const PlaneTables& tables, const Source& source) {
  Kin& kin = kin_[source.sw];
  if (kin.chief != kNone) return kin;
  std::uint32_t& chief = chief_of_like_[source.like];
  if (chief == kNone || !compare(tables, source, chiefs_[chief])) {
    chief = static_cast<std::uint32_t>(chiefs_.size());
    chiefs_.push_back(source);
  }
  kin.chief = chief;
  return kin;
}

// Notes where rows differ. False, and nothing noted, where they do too often.
bool FirstHops::compare(const PlaneTables& tables, const Source& source, const Source& chief) {
  constexpr std::size_t kBlock = 64;  // divides every tile
  const std::size_t before = differing_.size(), most = before + std::max<std::size_t>(2, tables.destinations() / 16);
  const auto on = [](const Source& sw, std::size_t column) { return column - sw.first_column < sw.column_count; };
  const std::size_t tile = tables.tile_entries();
  for (std::size_t first = 0; first < tables.destinations(); first += tile) {
    const std::size_t end = std::min(tables.destinations(), first + tile);
    if (tables.same_entries(source.row, chief.row, first, end - first)) continue;
    for (std::size_t block = first; block < end; block += kBlock) {
      const std::size_t block_end = std::min(end, block + kBlock);
      if (tables.same_entries(source.row, chief.row, block, block_end - block)) continue;
      for (std::size_t column = block; column < block_end; ++column) {
        if (on(source, column) || on(chief, column)) continue;
        if (tables.at(source.row, column) == tables.at(chief.row, column)) continue;
        if (differing_.size() == most) {
          differing_.resize(before);
          return false;
        }
        differing_.push_back(static_cast<std::uint32_t>(column));
      }
    }
  }
  Kin& kin = kin_[source.sw];
  kin.first = static_cast<std::uint32_t>(before);
  kin.count = static_cast<std::uint32_t>(differing_.size() - before);
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
