#include "services/rest/json/time_value.h"

#include "fabric/base/text/time_text.h"

namespace railweave::api {

Out time_or_null(std::int64_t us) { return us == 0 ? Out(nullptr) : Out(time_text(us)); }

}  // namespace railweave::api
