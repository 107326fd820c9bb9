// By which port each switch of a job's sources sends to each of its targets, switches that send alike taken together:
// in a healthy tree all leaves of a pod do, so that what follows is done once per pod and not once per leaf.
//
// Switches are of one bundle where the same ports lead to the same switches (`like`) and their rows differ little from
// that of one of them; where an entry differs, that is a deviation. Rows are compared whole when a job first comes by,
// and what differs is kept: after that only one row of a bundle is read. One per tables; not for several threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/routing/plane/plane_tables.h"

namespace railweave::fabric {

class FirstHops {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint16_t kUnset = UINT16_MAX - 1;  // of a bundle of one, towards its own targets

  struct Source {
    std::uint32_t sw = 0;
    std::uint32_t row = 0;                             // of the plane's tables
    std::uint32_t like = 0;                            // equal where equal ports lead to equal switches
    std::uint32_t first_column = 0, column_count = 0;  // destinations on the switch itself
  };
  struct Deviation {
    std::uint32_t target = 0, source = 0;
    std::uint16_t port = 0;
  };

  FirstHops() = default;
  FirstHops(std::size_t switches, std::size_t likes) : kin_(switches), chief_of_like_(likes, kNone) {}

  // columns: of the targets, ascending. own: by target, the source on whose switch it is, whose entry does not matter.
  // O(bundles x targets + deviations), and O(row) for a switch that comes for the first time.
  void read(const PlaneTables& tables, std::span<const Source> sources, std::span<const std::uint32_t> columns,
            std::span<const std::uint32_t> own);

  [[nodiscard]] std::size_t bundles() const { return switch_.size(); }
  [[nodiscard]] std::uint32_t bundle_of(std::uint32_t source) const { return bundle_of_[source]; }
  // A switch of which the bundle's ports are.
  [[nodiscard]] std::uint32_t switch_of(std::size_t bundle) const { return switch_[bundle]; }
  // Of all its members, but for deviations and the target's own source.
  [[nodiscard]] std::uint16_t port(std::size_t bundle, std::size_t target) const {
    return ports_[bundle * targets_ + target];
  }
  [[nodiscard]] std::span<const Deviation> deviations(std::size_t target) const {
    return std::span(deviations_)
        .subspan(first_deviation_[target], first_deviation_[target + 1] - first_deviation_[target]);
  }
  [[nodiscard]] std::span<const Deviation> deviations() const { return deviations_; }

 private:
  struct Kin {
    std::uint32_t chief = kNone;         // in chiefs_: the switch from whose row this one's differs little
    std::uint32_t first = 0, count = 0;  // in differing_: where it does, but for columns on either switch
  };
  struct Numbered {
    std::uint32_t token = 0;
    std::uint32_t number = 0;
  };
  const Kin& kin_of(const PlaneTables& tables, const Source& source);
  [[nodiscard]] bool compare(const PlaneTables& tables, const Source& source, const Source& chief);
  std::uint32_t new_bundle(const PlaneTables& tables, const Source& chief, std::span<const std::uint32_t> columns);
  void order_deviations();

  // Of the tables.
  std::vector<Kin> kin_;                      // by switch
  std::vector<std::uint32_t> chief_of_like_;  // in chiefs_, the last one
  std::vector<Source> chiefs_;
  std::vector<std::uint32_t> differing_;
  // Of a job.
  std::uint32_t token_ = 0;
  std::vector<Numbered> bundle_of_chief_, target_of_column_;
  std::size_t targets_ = 0;
  std::vector<std::uint16_t> ports_;  // bundles x targets
  std::vector<std::uint32_t> switch_, bundle_of_, first_deviation_;
  struct OnChief {
    std::uint32_t first = 0, end = 0;  // targets
  };
  std::vector<OnChief> on_chief_;  // by bundle
  std::vector<Deviation> deviations_, unordered_;
};

}  // namespace railweave::fabric
