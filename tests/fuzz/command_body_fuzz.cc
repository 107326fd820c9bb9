// The bodies of requests that change something: any body gives a command or an error that says what is wrong. The first byte
// chooses the reader.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fabric/base/check.h"
#include "services/rest/handlers/fabric/node_facts.h"
#include "services/rest/handlers/fabric/topology_import.h"
#include "services/rest/json/access/tenant.h"
#include "services/rest/json/access/token.h"
#include "services/rest/json/fabric/alarm.h"
#include "services/rest/json/fabric/drain.h"
#include "services/rest/json/fabric/routes.h"
#include "services/rest/json/guarantees/contract.h"
#include "services/rest/json/jobs/job_batch.h"
#include "services/rest/json/jobs/job_change.h"
#include "services/rest/json/jobs/lab.h"
#include "services/rest/json/jobs/launch.h"
#include "services/rest/json/live/subnet.h"
#include "services/rest/json/queue/queue.h"
#include "services/rest/json/queue/queue_policy.h"

using namespace railweave;  // NOLINT

namespace {

void check_error(const Error& error) {
  RAILWEAVE_CHECK(!error.code.empty() && !error.message.empty(), "an error says what is wrong");
}

template <class T>
bool judged(const Result<T>& read) {
  if (!read) check_error(read.error());
  return read.has_value();
}

bool judge_batch(std::string_view body, bool needs_keys) {
  const auto batch = api::read_batch(body, needs_keys);
  if (!judged(batch)) return false;
  RAILWEAVE_CHECK(batch->items.size() <= api::kMaxBatchItems, "a batch is bounded");
  for (const auto& item : batch->items) {
    RAILWEAVE_CHECK(!needs_keys || !item.request || !item.key.empty(), "an item has the key it needs");
    if (!item.request) check_error(item.located(item.request.error()));
  }
  return true;
}

using Reader = bool (*)(std::string_view);
const control::JobId kJob(1);
constexpr std::array kReaders{
    Reader{[](std::string_view body) { return judged(api::read_contract("t", body)); }},
    Reader{[](std::string_view body) { return judged(api::read_qos_classes(body)); }},
    Reader{[](std::string_view body) { return judged(api::read_drain_request(body, true, true)); }},
    Reader{[](std::string_view body) { return judged(api::read_reservation("r", body)); }},
    Reader{[](std::string_view body) { return judged(api::read_repair(kJob, body)); }},
    Reader{[](std::string_view body) { return judged(api::read_queue_policy(body)); }},
    Reader{[](std::string_view body) { return judged(api::read_token_request(body)); }},
    Reader{[](std::string_view body) { return judged(api::read_mode_request(body)); }},
    Reader{[](std::string_view body) { return judged(api::read_discover_request(body)); }},
    Reader{[](std::string_view body) { return judged(api::read_job_request(body)); }},
    Reader{[](std::string_view body) { return judge_batch(body, true); }},
    Reader{[](std::string_view body) { return judge_batch(body, false); }},
    Reader{[](std::string_view body) { return judged(api::read_job_change(kJob, body)); }},
    Reader{[](std::string_view body) { return judged(api::read_freed(kJob, body)); }},
    Reader{[](std::string_view body) { return judged(api::read_route_change(body)); }},
    Reader{[](std::string_view body) { return judged(api::read_tenant("t", body)); }},
    Reader{[](std::string_view body) { return judged(api::read_node_facts("n", body)); }},
    Reader{[](std::string_view body) { return judged(api::read_inventory(body)); }},
    Reader{[](std::string_view body) { return judged(api::read_file_bundle(body)); }},
    Reader{[](std::string_view body) { return judged(api::read_note(body)); }},
    Reader{[](std::string_view body) { return judged(api::read_lab_request(body)); }},
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // Letters in order of the readers, so that seeds can be read; any other byte chooses one too.
  (void)kReaders[(data[0] + kReaders.size() * 8 - 'a') % kReaders.size()](
      std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
