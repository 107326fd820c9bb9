// Links the records that are about to be appended to the journal's last one (services/control/codec/record_chain.h says how).
#pragma once

#include <string>
#include <vector>

#include "db/journal.h"
#include "services/control/events/event_codec.h"

namespace railweave::control {

// Used by the control thread alone.
class JournalChain {
 public:
  JournalChain(db::Journal& journal, const EventCodec& codec) : journal_(journal), codec_(codec) {}

  // Before each append, of which one is under way at a time.
  void link(std::vector<db::Record>& records);
  // That append came to nothing, or it is not known: what the journal ends with is read again.
  void forget() { tail_.clear(); }

 private:
  db::Journal& journal_;
  const EventCodec& codec_;
  std::string tail_;  // digest of the last record; "": not known
};

}  // namespace railweave::control
