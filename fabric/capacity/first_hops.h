// By which port each switch of a job's sources sends to each of its targets, switches that send alike taken together:
// in a healthy tree all leaves of a pod do, so that what follows is done once per pod and not once per leaf.
//
// Switches are of one bundle where the same ports lead to the same switches (`like`) and nearly all their entries
// agree; where one differs, that is a deviation. Rows are read one after the other, as memory likes it. Keeps its
// memory from one job to the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/routing/plane_tables.h"

namespace railweave::fabric {

class FirstHops {
 public:
  static constexpr std::uint16_t kUnset = UINT16_MAX - 1;  // of a bundle of one, towards its own targets

  struct Source {
    std::uint32_t row = 0;   // of the tables
    std::uint32_t like = 0;  // equal where equal ports lead to equal switches
  };
  struct Deviation {
    std::uint32_t target = 0, source = 0;
    std::uint16_t port = 0;
  };

  // columns: of the targets. own: by target, the source on whose switch it is, whose entry does not matter. likes: more
  // than any source's. O(sources x targets).
  void read(const PlaneTables& tables, std::span<const Source> sources, std::size_t likes,
            std::span<const std::uint32_t> columns, std::span<const std::uint32_t> own);

  [[nodiscard]] std::size_t bundles() const { return first_source_.size(); }
  [[nodiscard]] std::uint32_t bundle_of(std::uint32_t source) const { return bundle_of_[source]; }
  [[nodiscard]] std::uint32_t first_source(std::size_t bundle) const { return first_source_[bundle]; }
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
  [[nodiscard]] bool join(std::uint32_t bundle, std::uint32_t source, std::span<const std::uint32_t> own);
  void order_deviations();

  std::size_t targets_ = 0;
  std::vector<std::uint16_t> ports_;  // bundles x targets
  std::vector<std::uint32_t> first_source_, bundle_of_, last_of_like_, first_deviation_, patches_;
  std::vector<Deviation> deviations_, unordered_;
  std::vector<std::uint16_t> row_;
};

}  // namespace railweave::fabric
