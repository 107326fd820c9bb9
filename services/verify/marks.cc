#include "services/verify/marks.h"

#include <cstddef>
#include <string>
#include <vector>

namespace railweave::verify {
namespace {

using Json = nlohmann::json;

// Service levels number x levels + l, for each level l of the routing.
bool are_levels(const Json& one, std::size_t number, std::size_t levels) {
  if (levels == 0) return !one.contains("serviceLevels");
  if (!one.contains("serviceLevels") || one.at("serviceLevels").size() != levels) return false;
  for (std::size_t l = 0; l < levels; ++l) {
    if (one.at("serviceLevels").at(l) != number * levels + l) return false;
  }
  return true;
}

// The number of a class, or of the owner of a lane, which follow: 0 is the last class, which unmarked packets are in.
std::size_t number_of_slot(std::size_t slot, std::size_t classes) {
  return slot >= classes ? slot : slot + 1 == classes ? 0 : slot + 1;
}

}  // namespace

void check_marks(const Json& certificate, Verdict& verdict) {
  const Json& classes = certificate.at("classes");
  if (classes.empty()) return verdict.fault("the certificate has no classes");
  const std::size_t levels = classes.at(0).value("serviceLevels", Json::array()).size();
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (are_levels(classes[c], number_of_slot(c, classes.size()), levels)) continue;
    verdict.fault("the service levels of " + classes[c].at("name").get<std::string>() + " are not those of its number");
  }
  for (const Json& job : certificate.at("jobs")) {
    const bool has_lane = job.contains("lane");
    const std::size_t number = classes.size() + (has_lane ? job.at("lane").get<std::size_t>() : 0);
    if (are_levels(job, number, has_lane ? levels : 0)) continue;
    verdict.fault(job.at("job").get<std::string>() + ": its service levels are not those of its lane");
  }
  // Lanes number x R + r, for each of R lanes of the routing.
  constexpr std::size_t kMaxLanes = 15;
  std::vector<bool> fits(kMaxLanes + 1, true);
  for (const Json& link : certificate.at("links")) {
    for (const Json& turn : link.value("turns", Json::array())) {
      const std::size_t number = number_of_slot(turn.at(0).get<std::size_t>(), classes.size());
      for (std::size_t r = 1; r <= kMaxLanes; ++r) {
        fits[r] = fits[r] && turn.at(1).get<std::size_t>() / r == number;
      }
    }
  }
  for (std::size_t r = 1; r <= kMaxLanes; ++r) {
    if (fits[r]) return;
  }
  verdict.fault("lanes in arbitration tables are not those of the numbers of classes and owners");
}

}  // namespace railweave::verify
