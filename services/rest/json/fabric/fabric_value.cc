#include "services/rest/json/fabric/fabric_value.h"

#include "services/json/contract_object.h"
namespace railweave::api {

Out fabric_summary_json(const fabric::FabricSummary& summary) { return fields_json(summary, kFabricSummaryFields); }

Out findings_json(const std::vector<fabric::Finding>& findings) {
  Out list = Out::array();
  for (const auto& finding : findings) {
    list.push_back(object<"Finding">(with<"code">(finding.code), with<"severity">(finding.severity),
                                     with<"message">(finding.message), with<"objects">(finding.objects)));
  }
  return list;
}

}  // namespace railweave::api
