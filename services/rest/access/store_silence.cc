#include "services/rest/access/store_silence.h"

#include <utility>

#include <fmt/core.h>

namespace railweave::api {

std::string store_silence(std::chrono::milliseconds silent) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(silent).count();
  return fmt::format("this replica has received nothing from the store for {} s", seconds);
}

std::expected<std::shared_ptr<const Caller>, Problem> confirmed(
    std::expected<std::shared_ptr<const Caller>, Problem> known,
    const std::optional<std::chrono::milliseconds>& silent) {
  if (!silent) return known;
  // One that is not known may have been issued since.
  const bool of_store = known ? (*known)->known_by == KnownBy::token : known.error().code == "auth.invalid";
  if (!of_store) return known;
  Problem problem;
  problem.status = 503;
  problem.code = "service.storeSilent";
  problem.detail = store_silence(*silent) + ": a token may have been issued or revoked since";
  problem.hint = "try again, or ask another replica; GET /readyz tells when this one is ready";
  problem.retry_after_s = 1;
  return std::unexpected(std::move(problem));
}

}  // namespace railweave::api
