#include "services/railweave/commands/switch_tables.h"

#include <cstddef>

#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_document.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kNamesLimitBytes = 64U << 20U;

}  // namespace

Json table_of_switch(Service& service, const std::string& id) {
  Json table = Json::array();
  service.each_item(
      Target("/v1/switches").segment(id).path("/forwarding-table"), 0,
      [&](const Json& entry) { table.push_back(entry); }, [&] { table.clear(); });
  return table;
}

Json read_names_document(const std::string& file) {
  return file.empty() ? Json() : value_or_fail(read_document(file, kNamesLimitBytes));
}

}  // namespace railweave::cli
