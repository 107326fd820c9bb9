#include "db/store_image.h"

#include <utility>

namespace railweave::db {

Result<void> StoreImage::reports(const std::function<Result<void>(ReportRow&&)>& visit) {
  for (const auto& [table, columns] : report_schema().tables()) {
    const auto pages = report_pages(table);
    if (!pages) return std::unexpected(pages.error());
    while (true) {
      auto rows = (*pages)->next();
      if (!rows) return std::unexpected(rows.error());
      if (rows->empty()) break;
      for (auto& row : *rows) {
        if (auto visited = visit(std::move(row)); !visited) return visited;
      }
    }
  }
  return {};
}

}  // namespace railweave::db
