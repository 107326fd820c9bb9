#include "services/verify/lanes.h"

#include <algorithm>

#include <fmt/core.h>

namespace railweave::verify {
namespace {

using Json = nlohmann::json;

std::string link_text(const DirectedLink& link) { return link.first + "->" + link.second; }

}  // namespace

Lanes::Lanes(const Json& certificate, const std::vector<std::string>& classes, Verdict& verdict) : verdict_(verdict) {
  constexpr std::int64_t kMaxLanes = 15;
  std::map<std::string, std::size_t> class_of;
  for (const Json& job : certificate.at("jobs")) {
    const auto name = job.at("job").get<std::string>();
    const auto at = std::ranges::find(classes, job.at("class").get<std::string>());
    class_of[name] = static_cast<std::size_t>(at - classes.begin());
    if (!job.contains("lane")) continue;
    lane_of_[name] = job.at("lane").get<std::int64_t>();
    if (lane_of_[name] < 0 || lane_of_[name] >= kMaxLanes) verdict.fault(name + ": no port has such a lane");
  }
  for (const Json& link : certificate.at("links")) {
    const DirectedLink directed{link.at("from").get<std::string>(), link.at("to").get<std::string>()};
    for (const Json& one : link.value("lanes", Json::array())) {
      const auto job = one.at("job").get<std::string>();
      const auto lane = one.at("lane").get<std::int64_t>();
      const auto own = lane_of_.find(job);
      if (own == lane_of_.end() || own->second != lane) {
        verdict.fault(fmt::format("{}: lane {} is not that of {}", link_text(directed), lane, job));
        continue;
      }
      const Owner owner{job, class_of[job], one.at("reservedMbps").get<std::int64_t>()};
      if (owner.reserved_mbps <= 0) verdict.fault(link_text(directed) + ": nothing is reserved for the lane of " + job);
      const auto [at, is_new] = owners_[directed].try_emplace(lane, owner);
      if (!is_new) {
        verdict.fault(fmt::format("{}: lane {} is of {} and of {}", link_text(directed), lane, at->second.job, job));
      }
    }
  }
}

const std::map<std::int64_t, Lanes::Owner>& Lanes::owners(const DirectedLink& link) const {
  static const std::map<std::int64_t, Owner> none;
  const auto at = owners_.find(link);
  return at == owners_.end() ? none : at->second;
}

std::int64_t Lanes::reserved_in(const DirectedLink& link, std::size_t of_class) const {
  std::int64_t sum = 0;
  for (const auto& [lane, owner] : owners(link)) sum += owner.of_class == of_class ? owner.reserved_mbps : 0;
  return sum;
}

void Lanes::use(const std::string& job, const DirectedLink& link, std::int64_t mbps, const std::string& when) {
  const auto own = lane_of_.find(job);
  if (own == lane_of_.end() || mbps == 0) return;
  const std::string where = fmt::format("{}{}: lane {}", link_text(link), when, own->second);
  const auto [user, is_first] = users_[link].try_emplace(own->second, job);
  if (!is_first) verdict_.fault(where + " is of " + user->second + " and of " + job);
  const auto& here = owners(link);
  const auto owner = here.find(own->second);
  const std::int64_t reserved = owner != here.end() && owner->second.job == job ? owner->second.reserved_mbps : 0;
  if (mbps > reserved) {
    verdict_.fault(fmt::format("{} of {} can carry {} Mb/s, {} are reserved for it", where, job, mbps, reserved));
  }
}

}  // namespace railweave::verify
