#include "services/control/live/ports/opensm_offer.h"

#include <cstddef>
#include <utility>

#include "fabric/drivers/opensm/files/opensm_files.h"
#include "fabric/drivers/opensm/local/kept_file.h"

namespace railweave::control {
namespace {

constexpr std::size_t kMaxBytes = 64'000'000;

}  // namespace

Result<std::vector<std::string>> offer_opensm_files(const fabric::OpenSmPolicy& policy, const std::string& folder) {
  namespace opensm = fabric::opensm;
  const std::string partitions = folder + "/partitions.conf";
  const std::string qos = folder + "/qos-policy.conf";
  const Result<std::string> texts[] = {
      opensm::write_partitions(policy.partitions), opensm::write_qos_policy(policy.qos),
      opensm::write_opensm_options({.partitions_file = partitions, .qos_policy_file = qos, .sharing = policy.sharing})};
  // The options last: they name the others.
  const std::string paths[] = {partitions, qos, folder + "/opensm-qos.conf"};
  for (const auto& text : texts) {
    if (!text) return std::unexpected(text.error());
  }
  std::vector<std::string> written;
  for (std::size_t i = 0; i < std::size(paths); ++i) {
    const auto present = opensm::read_kept_file(paths[i], kMaxBytes);
    if (!present) return std::unexpected(present.error());
    if (*present == *texts[i]) continue;
    if (auto done = opensm::write_kept_file(paths[i], *texts[i]); !done) return std::unexpected(done.error());
    written.push_back(paths[i]);
  }
  return written;
}

}  // namespace railweave::control
