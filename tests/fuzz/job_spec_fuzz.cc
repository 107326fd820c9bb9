// The JSON decoder of the API: any body gives a job or an error that names a place and a reason; what is read is
// written and read again the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fabric/base/check.h"
#include "services/rest/json/access/tenant.h"
#include "services/rest/json/jobs/job_spec.h"

using namespace railweave;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  if (const auto spec = api::read_job_spec(body); spec) {
    const auto again = api::read_job_spec(api::write_job_spec(*spec));
    RAILWEAVE_CHECK(again && *again == *spec, "a job read is the job written");
  } else {
    RAILWEAVE_CHECK(!spec.error().code.empty() && !spec.error().message.empty(), "an error says what is wrong");
  }
  if (const auto tenant = api::read_tenant("t", body); !tenant) {
    RAILWEAVE_CHECK(!tenant.error().code.empty() && !tenant.error().message.empty(), "an error says what is wrong");
  }
  return 0;
}
