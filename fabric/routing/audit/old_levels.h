// What senders meet on new routes while they keep the service levels of the routes before: who sends asks for its path once,
// and other levels on the new tables and maps may close a credit loop. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "fabric/base/enum_text.h"
#include "fabric/routing/plane/destination.h"

namespace railweave::fabric {

class FabricView;
struct Lanes;
struct Routing;

struct OldLevels {
  enum class Outcome : std::uint8_t {
    kept,                 // paths have the levels that they had
    free_of_loops,        // they have others, and those from before close no credit loop
    credit_loops,         // those from before close credit loops until senders ask again
    unknown_to_switches,  // there were more levels before than switches have maps for now
  };
  BOOST_DESCRIBE_NESTED_ENUM(Outcome, kept, free_of_loops, credit_loops, unknown_to_switches)
  Outcome outcome = Outcome::kept;
  unsigned loop_lanes = 0;  // on which they close credit loops

  [[nodiscard]] std::string text() const;  // for people
  friend bool operator==(const OldLevels&, const OldLevels&) = default;
};

// before: lanes that senders know; now: routes that passed the audit with their own levels. None: the planes use one lane.
std::optional<OldLevels> audit_old_levels(const FabricView& view, std::span<const PlaneId> planes, const Lanes& before,
                                          const Routing& now);

}  // namespace railweave::fabric
