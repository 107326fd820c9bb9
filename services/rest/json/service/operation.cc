#include "services/rest/json/service/operation.h"

#include "fabric/base/text/time_text.h"
#include "services/json/contract_object.h"

namespace railweave::api {

std::string write_operation(const Operation& operation, const std::function<int(ErrorKind)>& http_status) {
  static constexpr const char* states[] = {"running", "succeeded", "failed"};
  Out error = nullptr;
  if (operation.error) {
    error = object<"Operation.error">(
        with<"code">(operation.error->code), with<"status">(http_status(operation.error->kind)),
        with<"detail">(operation.error->location.empty() ? operation.error->message
                                                         : operation.error->location + ": " + operation.error->message),
        with<"hint">(operation.error->hint));
  }
  return dump(object<"Operation">(
      with<"id">(operation.id), with<"kind">(operation.kind), with<"state">(states[static_cast<int>(operation.state)]),
      with<"progress">(object<"Operation.progress">(with<"done">(operation.done), with<"total">(operation.total),
                                                    with<"unit">(operation.unit))),
      with<"startedAt">(time_text(operation.started_us)),
      with<"endedAt">(operation.ended_us == 0 ? Out(nullptr) : Out(time_text(operation.ended_us))),
      with<"result">(operation.result_json.empty() ? Out(nullptr) : Out::parse(operation.result_json)),
      with<"error">(std::move(error))));
}

}  // namespace railweave::api
