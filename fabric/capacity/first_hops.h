// The ports by which the switches of a job's sources send to each of its targets. Switches that forward alike are read
// together, as a bundle: in a healthy tree all leaves of a pod do, so the work is done once per pod, not per leaf.
//
// Switches of one class (equal ports lead to equal switches) are in one bundle if their rows of the tables differ
// little from that of the bundle's representative; an entry that differs is a deviation. A switch's row is compared
// as a whole when the switch first occurs in a job, and the difference is kept: later jobs read only the row of the
// representative. One per set of tables; not for several threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/routing/plane/plane_tables.h"

namespace railweave::fabric {

class FirstHops {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint16_t kUnset = UINT16_MAX - 1;  // of a bundle of one switch, towards its own targets

  struct Source {
    std::uint32_t sw = 0;
    std::uint32_t row = 0;                             // of the plane's tables
    std::uint32_t switch_class = 0;                    // EgressMap::class_of()
    std::uint32_t first_column = 0, column_count = 0;  // destinations on the switch itself
  };
  struct Deviation {
    std::uint32_t target = 0, source = 0;
    std::uint16_t port = 0;
  };

  FirstHops() = default;
  FirstHops(std::size_t switches, std::size_t class_count)
      : differences_(switches), representative_of_class_(class_count, kNone) {}

  // columns: of the targets, ascending. own: by target, the source on the target's switch, whose entry does not matter.
  // O(bundles x targets + deviations), and O(row) for a switch that occurs for the first time.
  void read(const PlaneTables& tables, std::span<const Source> sources, std::span<const std::uint32_t> columns,
            std::span<const std::uint32_t> own);

  [[nodiscard]] std::size_t bundles() const { return switch_.size(); }
  [[nodiscard]] std::uint32_t bundle_of(std::uint32_t source) const { return bundle_of_[source]; }
  // The representative, whose ports port() gives.
  [[nodiscard]] std::uint32_t switch_of(std::size_t bundle) const { return switch_[bundle]; }
  // Of all its members, except deviations and the target's own source.
  [[nodiscard]] std::uint16_t port(std::size_t bundle, std::size_t target) const {
    return ports_[bundle * targets_ + target];
  }
  [[nodiscard]] std::span<const Deviation> deviations(std::size_t target) const {
    return std::span(deviations_)
        .subspan(first_deviation_[target], first_deviation_[target + 1] - first_deviation_[target]);
  }
  [[nodiscard]] std::span<const Deviation> deviations() const { return deviations_; }

 private:
  struct Difference {                      // of a switch's row from its representative's
    std::uint32_t representative = kNone;  // in representatives_
    std::uint32_t first = 0, count = 0;    // in differing_, without the columns on either switch
  };
  struct Numbered {
    std::uint32_t token = 0;
    std::uint32_t number = 0;
  };
  struct TargetRange {
    std::uint32_t first = 0, end = 0;
  };
  const Difference& difference_from_representative(const PlaneTables& tables, const Source& source);
  [[nodiscard]] bool compare(const PlaneTables& tables, const Source& source, const Source& representative);
  std::uint32_t new_bundle(const PlaneTables& tables, const Source& representative,
                           std::span<const std::uint32_t> columns);
  void order_deviations();

  // Of the tables, kept from job to job.
  std::vector<Difference> differences_;                 // by switch
  std::vector<std::uint32_t> representative_of_class_;  // in representatives_, the newest one
  std::vector<Source> representatives_;
  std::vector<std::uint32_t> differing_;  // columns
  // Of a job.
  std::uint32_t token_ = 0;
  std::vector<Numbered> bundle_of_representative_, target_of_column_;
  std::size_t targets_ = 0;
  std::vector<std::uint16_t> ports_;  // bundles x targets
  std::vector<std::uint32_t> switch_, bundle_of_, first_deviation_;
  std::vector<TargetRange> on_representative_;  // by bundle: targets on the representative itself
  std::vector<Deviation> deviations_, unordered_;
};

}  // namespace railweave::fabric
