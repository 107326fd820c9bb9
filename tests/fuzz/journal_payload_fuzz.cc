// The journal's payloads and snapshots, as a damaged store or another release may hold them: any kind and text gives an event that
// applies, or an error. The first line is the kind ("snapshot": a state), the rest the payload.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/check.h"
#include "services/control/codec/journal_codec.h"
#include "services/control/events/apply.h"
#include "services/control/events/event.h"
#include "services/control/state/cluster_state.h"
#include "services/json/strict_json.h"
#include "services/rest/access/shown_event.h"

using namespace railweave;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto end = text.find('\n');
  if (end == std::string_view::npos || end > 64) return 0;
  const api::JournalCodec codec;
  const control::BlobReader none = [](const std::string&) -> Result<std::optional<std::string>> {
    return std::nullopt;
  };
  const std::string payload(text.substr(end + 1));
  if (text.substr(0, end) == "snapshot") {
    for (const std::uint32_t version : {1U, 2U, 3U}) {
      const auto state =
          codec.decode_state({.seq = 7, .term = 1, .time_us = 1, .version = version, .payload = payload}, none);
      if (!state) {
        RAILWEAVE_CHECK(!state.error().code.empty() && !state.error().message.empty(), "an error says what is wrong");
        continue;
      }
      const std::string written = codec.encode_state(*state);
      (void)written;
    }
    return 0;
  }
  db::Record record;
  record.seq = 1;
  record.kind = std::string(text.substr(0, end));
  record.actor = "fuzz";
  record.payload = payload;
  for (const std::uint32_t version : {1U, 2U, 3U}) {
    record.version = version;
    control::ClusterState state;
    const auto event = codec.decode(record, state, none);
    if (!event) {
      RAILWEAVE_CHECK(!event.error().code.empty() && !event.error().message.empty(), "an error says what is wrong");
    }
  }
  const auto shown = api::shown_event(control::ClusterState(), {control::Role::administrator, "", "fuzz"}, record);
  RAILWEAVE_CHECK(shown && api::Json::accept(*shown), "an event is shown as JSON, whatever its payload is");
  return 0;
}
