#include "db/replay.h"

namespace railweave::db {
namespace {
constexpr std::size_t kPageRecords = 4096;
}

Result<std::uint64_t> replay(Journal& journal, std::uint64_t after_seq,
                             const std::function<Result<void>(const Record&)>& visit) {
  while (true) {
    ReadFilter filter;
    filter.after_seq = after_seq;
    filter.limit = kPageRecords;
    const auto page = journal.read(filter);
    if (!page) return std::unexpected(page.error());
    if (page->empty()) return after_seq;
    for (const Record& record : *page) {
      if (auto visited = visit(record); !visited) return std::unexpected(visited.error());
      after_seq = record.seq;
    }
  }
}

}  // namespace railweave::db
