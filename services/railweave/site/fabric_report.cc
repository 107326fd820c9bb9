#include "services/railweave/site/fabric_report.h"

#include "services/json/json_out.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/rest/json/fabric/fabric_value.h"

namespace railweave::cli {

Json fabric_report(const fabric::FabricSummary& summary) {
  return value_or_fail(parse_json(api::dump(api::fabric_summary_json(summary))));
}

Json fabric_report(const fabric::FabricSummary& summary, const std::vector<fabric::Finding>& findings) {
  Json value = api::fabric_summary_json(summary);
  value["findings"] = api::findings_json(findings);
  return value_or_fail(parse_json(api::dump(value)));
}

Json fabric_report(const fabric::FabricSummary& summary, const std::vector<fabric::Finding>& findings, double read_ms) {
  Json value = api::fabric_summary_json(summary);
  value["findings"] = api::findings_json(findings);
  value["readMs"] = read_ms;
  return value_or_fail(parse_json(api::dump(value)));
}

}  // namespace railweave::cli
