#include "services/rest/json/findings_value.h"

namespace railweave::api {

Out findings_json(const std::vector<fabric::Finding>& findings) {
  Out list = Out::array();
  for (const auto& finding : findings) {
    list.push_back({{"code", finding.code},
                    {"severity", fabric::to_string(finding.severity)},
                    {"message", finding.message},
                    {"objects", finding.objects}});
  }
  return list;
}

}  // namespace railweave::api
