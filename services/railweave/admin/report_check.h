// The reporting tables of a store beside what its journal says they hold, row by row, and made again from it. Memory is
// bounded: what the journal leads to goes into a store of its own in the folder for temporary files, and both are read by pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/report_rebuild.h"
#include "db/store_copy.h"
#include "db/store_image.h"
#include "services/railweave/admin/snapshot_replay.h"

namespace railweave::cli {

struct ReportFindings {
  struct Table {
    std::string name;
    std::uint64_t rows = 0;            // that are as the journal says
    std::uint64_t changed = 0;         // a column differs
    std::uint64_t missing = 0;         // the journal has it, the table not
    std::uint64_t invented = 0;        // the table has it, the journal not
    std::uint64_t not_comparable = 0;  // of events that were removed from the journal
  };
  std::vector<Table> tables;
  std::vector<std::string> first;  // of what differs, at most kMaxFirst lines
  static constexpr std::size_t kMaxFirst = 10;

  [[nodiscard]] std::uint64_t differing() const;
  [[nodiscard]] std::uint64_t not_comparable() const;
};

// Of a record, as an earlier check said it.
struct KnownHead {
  std::uint64_t seq = 0;
  std::string digest;
};

struct CheckedStore {
  ReplayedStore replayed;
  ReportFindings reports;
  std::string head;          // digest of the journal's last record, which names all before it
  std::uint64_t linked = 0;  // records that name the one before them
};
// Replays the journal as replay_store() does, and compares. rebuild: is told to change what differs to what the journal says; null:
// nothing is changed. known: what the journal must still have. Errors: of the replay, of reading, of the temporary store, and
// db.chainBroken, which names the record that was not written after the one before it, or is not the known one.
Result<CheckedStore> check_reports(db::StoreImage& image, const db::StoreProgress& progress, db::ReportRebuild* rebuild,
                                   const std::optional<KnownHead>& known = {});

}  // namespace railweave::cli
