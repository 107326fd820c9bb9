// Drains, previews of their effects, and requests for them as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "fabric/base/error.h"
#include "services/control/decide/drain_preview.h"

namespace railweave::api {

// A drain with the reason why it has not reached its next state.
struct ShownDrain {
  const control::Drain* drain = nullptr;  // null: not drained
  std::string waits_for;                  // "": it waits for nothing
};

struct DrainRequest {
  std::string reason;
  bool force = false;
  std::optional<std::uint32_t> gpu;  // of the node: this GPU alone

  [[nodiscard]] std::string target_text(const std::string& id) const {
    return gpu ? fmt::format("{}:{}", id, *gpu) : id;
  }
};
// The bodies of drain and undrain ("force" only with `forcible`, "gpu" only `of_node`); an empty body is {}.
Result<DrainRequest> read_drain_request(std::string_view body, bool forcible, bool of_node);

std::string write_drain(const fabric::Topology& topology, const ShownDrain& shown);  // of a drain
// The preview's findings and, if there is a drain, its state.
std::string write_drain_preview(const fabric::Topology& topology, const control::DrainPreview& preview, bool force,
                                const ShownDrain& shown);

}  // namespace railweave::api
