#include "services/railweave/assess/advice.h"

#include <utility>

#include "fabric/base/plural.h"
#include "services/railweave/assess/finding_meaning.h"

namespace railweave::cli {

Json to_json(const Advice& advice) {
  return {{"code", advice.code},       {"severity", advice.severity}, {"title", advice.title},
          {"sure", advice.sure},       {"cost", advice.cost},         {"action", advice.action},
          {"command", advice.command}, {"objects", advice.objects}};
}

Advice rows_left_out(std::size_t count, const std::vector<std::string>& rows, std::string command) {
  const FindingMeaning& meaning = meaning_of("rowsLeftOut");
  return {.code = "rowsLeftOut",
          .severity = "warning",
          .title = plural(count, "row is", "rows are") + " left out: " + rows.front(),
          .sure = std::string(meaning.sure),
          .cost = std::string(meaning.cost),
          .action = std::string(meaning.action),
          .command = std::move(command),
          .objects = rows};
}

}  // namespace railweave::cli
