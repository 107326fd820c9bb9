// Reading the journal to its end, page by page: at start, and by readers that follow it.
#pragma once

#include <cstdint>
#include <functional>

#include "db/journal.h"

namespace railweave::db {

// Calls visit with every record after after_seq, ascending, holding one page of them in memory at a time. Ends at the
// first error, of the journal or of visit. Returns the seq of the last record visited (after_seq if there was none).
Result<std::uint64_t> replay(Journal& journal, std::uint64_t after_seq,
                             const std::function<Result<void>(const Record&)>& visit);

}  // namespace railweave::db
