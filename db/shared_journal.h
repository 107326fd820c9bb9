// A journal that several processes share: one leads and appends, the others follow what it writes and take over when it
// is gone.
#pragma once

#include <chrono>

#include "db/journal.h"

namespace railweave::db {

// Before try_lead() has returned true, appends and snapshots are refused (db.notLeader).
class SharedJournal : public Journal {
 public:
  // True: this process leads from now on, in a term of its own, until leads() says otherwise. False: another leads. Not
  // to be called again after true.
  [[nodiscard]] virtual Result<bool> try_lead() = 0;

  // Returns when there may be new records, when no process leads, and after at_most at the latest; the first time at
  // once. True: no process leads, so try_lead(). Errors: the store does not answer. For one thread.
  [[nodiscard]] virtual Result<bool> wait_for_news(std::chrono::milliseconds at_most) = 0;

  // Of one that leads: how long ago the store last said so.
  [[nodiscard]] virtual std::chrono::milliseconds silence() const { return std::chrono::milliseconds(0); }

  // Of one that leads: whether the store takes records, found out by writing what is not kept.
  [[nodiscard]] virtual Result<void> try_writing() { return {}; }
};

}  // namespace railweave::db
