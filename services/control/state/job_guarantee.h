// What a placed job was promised on the network. Durable: with the topology, the link states and the job's GPUs it says
// what is reserved where (guarantee_book.h), so that no load of any link is stored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/units.h"
#include "fabric/capacity/reservation.h"

namespace railweave::control {

// The links and switches that carried no traffic when something was computed. By name.
struct ViewBasis {
  std::vector<std::string> down_links, drained_links, drained_switches;
  static constexpr std::size_t kMaxNames = 1'000;
  friend bool operator==(const ViewBasis&, const ViewBasis&) = default;
};

struct JobGuarantee {
  static constexpr std::size_t kMaxLinks = 16;

  std::string qos_class;
  fabric::TrafficPromise promise = fabric::TrafficPromise::hose;
  RateMbps rate;  // each way, at each port of the job
  RateMbps most;  // each way, to be enforced at the source; at least rate
  std::uint32_t reserved_permille = 1000;
  bool survives_link_failure = false;  // promised
  // Whether the loads after any single failure are reserved too: taken as of `basis`, until a failure uses it up.
  bool covered = false;
  ViewBasis basis;

  std::uint64_t admitted_seq = 0;     // of the event that placed the job or amended this
  std::int64_t at_risk_since_us = 0;  // 0: it holds
  std::int64_t at_risk_total_us = 0;  // of the times that are over
  std::string reason;                 // why it is at risk
  std::vector<std::string> links;     // that are full, at most kMaxLinks

  [[nodiscard]] bool at_risk() const { return at_risk_since_us != 0; }
  [[nodiscard]] std::int64_t at_risk_us(std::int64_t now_us) const {
    return at_risk_total_us + (at_risk() ? now_us - at_risk_since_us : 0);
  }
  friend bool operator==(const JobGuarantee&, const JobGuarantee&) = default;
};

enum class GuaranteeChange : std::uint8_t {
  at_risk,   // what was promised does not hold any more
  restored,  // it holds again
  covered,   // what a link failure would need is reserved again, or (covered == false) was used up by one
  amended,   // by a change of the contract or the classes; also when it is given or withdrawn
};
std::string_view to_string(GuaranteeChange change);  // "atRisk", "restored", "coverage", "amended"

}  // namespace railweave::control
