// Columns of a plane's tables, read several at a time: rows are long and the entries of one column far apart in memory.
// Serves one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/routing/plane/plane_tables.h"

namespace railweave::fabric {

class ColumnBlock {
 public:
  static constexpr std::size_t kColumns = 64;

  explicit ColumnBlock(const PlaneTables& tables) : tables_(tables), columns_(tables.switches() * kColumns) {}

  // Reads the entries for destinations [first, first + count), at most kColumns.
  void read(std::size_t first, std::size_t count) {
    std::array<std::uint16_t, kColumns> row;
    for (std::size_t s = 0; s < tables_.switches(); ++s) {
      tables_.read(s, first, count, row.data());
      for (std::size_t i = 0; i < count; ++i) columns_[i * tables_.switches() + s] = row[i];
    }
  }
  // The entries for destination first + i, by switch.
  [[nodiscard]] const std::uint16_t* column(std::size_t i) const { return columns_.data() + i * tables_.switches(); }

 private:
  const PlaneTables& tables_;
  std::vector<std::uint16_t> columns_;
};

}  // namespace railweave::fabric
