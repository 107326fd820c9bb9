// Drains, what they would do, and requests for them as JSON.
#pragma once

#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "services/control/decide/drain_preview.h"

namespace railweave::api {

// A drain as answers show it, with what keeps it from its next state.
struct ShownDrain {
  const control::Drain* drain = nullptr;  // null: not drained
  std::string waits_for;                  // "": nothing
};

struct DrainRequest {
  std::string reason;
  bool force = false;
};
// The bodies of drain and undrain ("force" only with `forcible`); an empty body is {}.
Result<DrainRequest> read_drain_request(std::string_view body, bool forcible);

std::string write_drain(const ShownDrain& shown);  // of a drain
// What the preview found and, where there is one, how far the drain is.
std::string write_drain_preview(const fabric::Topology& topology, const control::DrainPreview& preview, bool force,
                                const ShownDrain& shown);

}  // namespace railweave::api
