// An opensm.fdbs (opensm_dumps.h) piece by piece, for readers that take gigabytes as they come; and a digest of what it
// says, without making it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fabric/routing/opensm/table_rows.h"

namespace railweave::fabric {

class FdbsText {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 10U;

  // The tables must outlive this.
  explicit FdbsText(const ForwardingTables& tables) : rows_(tables) {}

  // The next piece, of a line more than kPieceBytes at most; nullopt after the last.
  std::optional<std::string> next();

 private:
  TableRows rows_;
  std::size_t entry_ = 0;   // the next of the present switch
  bool in_switch_ = false;  // its heading is written
  bool ended_ = false;
};

// FNV-1a by words of, for each switch in ascending order of GUIDs: its GUID, then the FNV-1a by words of LID << 16 | port
// of its entries in ascending order of LIDs. Entries whose routes do not arrive are left out, as the dump says of them
// that they are unreachable.
std::uint64_t entries_digest(const ForwardingTables& tables);

}  // namespace railweave::fabric
