// A commit in doubt: its connection was lost before the server answered. Resolved by ending the old session and reading the
// journal at the place where the batch would be.
#pragma once

#include <cstdint>

#include "db/postgres/session.h"

namespace railweave::db::postgres {

struct Doubt {
  Backend backend;             // of the session that was lost
  std::uint64_t last_seq = 0;  // of the batch
  std::int64_t nonce = 0;
};

// Over a session made since. True: the batch is stored, and where the server has synchronous standbys, on one of them too.
// False: it is not, and will not be. Errors: db.inDoubt where the old session does not end or no standby has the batch, and
// those of Session::run.
Result<bool> is_stored(Session& session, const Doubt& doubt, std::chrono::milliseconds patience);

}  // namespace railweave::db::postgres
