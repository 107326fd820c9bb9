// A ReadFilter as SQL whose cost grows with the records it returns, not with those it skips.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "db/journal.h"
#include "db/sqlite/statement.h"

namespace railweave::db::sqlite {

// Selects seq, term, time_us, actor, kind, version, subject_kind, subject_id, crc32, payload_bytes, payload, by seq.
class ReadQuery {
 public:
  // A filter that was checked.
  explicit ReadQuery(const ReadFilter& filter);

  // As many texts as there are combinations of filters present and numbers of kinds, so it is worth keeping prepared.
  [[nodiscard]] std::string sql() const;
  // Borrows from the filter.
  void bind(Statement& statement, std::size_t limit) const;

 private:
  const ReadFilter& filter_;
  std::vector<std::string_view> kinds_;  // each once
};

}  // namespace railweave::db::sqlite
