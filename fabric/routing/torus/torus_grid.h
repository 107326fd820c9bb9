// A torus recognized from its cables alone: coordinates for every switch of a plane such that every cable joins
// neighbours. Cables and switches may be missing, as after a discovery while some were down. Immutable.
//
// Opposite cables of a square run along the same dimension (Djokovic 1973); so do two cables at a switch that span no
// square although all their neighbours have all cables. A ring of four is the product of two rings of two, which
// squares cannot distinguish: pairs of dimensions of two become one of four, so 2 x 2 x 2 is recognized as 4 x 2, which
// is the same graph.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/routing/plane/plane.h"

namespace railweave::fabric {

class TorusGrid {
 public:
  static constexpr unsigned kMaxDimensions = 8;
  // Rings of four or more need a bit of the service level each.
  static constexpr unsigned kMaxLongRings = 3;

  // None: the plane is no torus, or too many cables are missing to recognize it. O(switches x degree^3).
  static std::optional<TorusGrid> find(const Plane& plane);

  [[nodiscard]] unsigned dimensions() const { return static_cast<unsigned>(sizes_.size()); }
  [[nodiscard]] std::uint32_t size(unsigned dimension) const { return sizes_[dimension]; }
  [[nodiscard]] std::uint32_t coordinate(std::size_t s, unsigned dimension) const {
    return coordinates_[s * sizes_.size() + dimension];
  }
  // The switch that differs from s in one coordinate only, which is `to`; kNone: there is none.
  [[nodiscard]] std::uint32_t moved(std::size_t s, unsigned dimension, std::uint32_t to) const {
    const std::uint64_t cell = cell_[s] + (std::uint64_t{to} - coordinate(s, dimension)) * strides_[dimension];
    return switch_at_[cell];
  }
  // The direction of an arc. 0: to the next higher coordinate, from the last to 0; 1: the opposite. Rings of two have
  // direction 0 only.
  struct Step {
    std::uint8_t dimension = 0;
    std::uint8_t direction = 0;
  };
  [[nodiscard]] Step step(std::size_t arc) const { return steps_[arc]; }
  [[nodiscard]] std::string text() const;  // "4 x 4 x 3"

 private:
  bool number_cells(std::size_t switches);
  bool label_arcs(const Plane& plane);

  std::vector<std::uint32_t> sizes_, strides_;
  std::vector<std::uint32_t> coordinates_;  // switch-major
  std::vector<std::uint32_t> cell_, switch_at_;
  std::vector<Step> steps_;
};

}  // namespace railweave::fabric
