// A store that one program has for itself, inside a transaction that it began: no service leads meanwhile, nor can one begin to.
#pragma once

#include <cstdint>

#include "db/postgres/append_statement.h"
#include "db/postgres/session.h"

namespace railweave::db::postgres {

// Holds the lease's row until the transaction ends, under the name of `railweave admin`. Error: db.locked (a service leads).
Result<Fence> take_store(Session& session);
// Nothing is left of it once the transaction is committed. term: of the newest record, or the fence's, if that is larger.
Result<void> give_store_back(Session& session, std::uint64_t term);

}  // namespace railweave::db::postgres
