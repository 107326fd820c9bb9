#include "services/rest/json/service/operation.h"

#include "fabric/base/text/time_text.h"
#include "services/json/json_out.h"

namespace railweave::api {

std::string write_operation(const Operation& operation, const std::function<int(ErrorKind)>& http_status) {
  static constexpr const char* states[] = {"running", "succeeded", "failed"};
  Out value{{"id", operation.id},
            {"kind", operation.kind},
            {"state", states[static_cast<int>(operation.state)]},
            {"progress", {{"done", operation.done}, {"total", operation.total}, {"unit", operation.unit}}},
            {"startedAt", time_text(operation.started_us)},
            {"endedAt", operation.ended_us == 0 ? Out(nullptr) : Out(time_text(operation.ended_us))}};
  value["result"] = operation.result_json.empty() ? Out(nullptr) : Out::parse(operation.result_json);
  value["error"] = nullptr;
  if (operation.error) {
    value["error"] = {
        {"code", operation.error->code},
        {"status", http_status(operation.error->kind)},
        {"detail", operation.error->location.empty() ? operation.error->message
                                                     : operation.error->location + ": " + operation.error->message},
        {"hint", operation.error->hint}};
  }
  return dump(value);
}

}  // namespace railweave::api
