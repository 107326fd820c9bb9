#include "services/control/views/seen_tables.h"

#include <algorithm>
#include <utility>

namespace railweave::control {

void SeenTablesBoard::publish(SeenTablesPtr seen) {
  const std::lock_guard lock(mutex_);
  kept_.push_front(std::move(seen));
  std::size_t of_subnet = 0;
  const std::string subnet = kept_.front()->subnet;
  std::erase_if(kept_, [&](const SeenTablesPtr& one) { return one->subnet == subnet && ++of_subnet > kKeptOfSubnet; });
}

SeenTablesPtr SeenTablesBoard::find(const std::string& subnet, const SubnetTables& reported) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(kept_, [&](const SeenTablesPtr& one) {
    return one->subnet == subnet && one->digest == reported.digest && one->reader == reported.reader;
  });
  return found == kept_.end() ? nullptr : *found;
}

}  // namespace railweave::control
