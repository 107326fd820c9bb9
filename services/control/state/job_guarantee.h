// The bandwidth guarantee of a placed job. Durable as its terms only: with the topology, the link states and the job's
// GPUs they determine what is reserved on which link (views/guarantee_book.h), so no link load is stored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/base/message.h"
#include "fabric/base/units.h"
#include "fabric/capacity/reservation.h"
#include "scheduler/admission/contract.h"

namespace railweave::control {

// The links and switches, by name, that were out of use when reservations were computed.
struct ViewBasis {
  std::vector<std::string> down_links, drained_links, drained_switches;
  static constexpr std::size_t kMaxNames = 1'000;
  friend bool operator==(const ViewBasis&, const ViewBasis&) = default;
};

struct JobGuarantee {
  static constexpr std::size_t kMaxLinks = 16;
  static constexpr std::uint8_t kMaxLanes = 15;  // of jobs' own

  std::string qos_class;
  fabric::TrafficPromise promise = fabric::TrafficPromise::hose;
  RateMbps rate;  // in each direction, at each port of the job
  RateMbps most;  // in each direction, to be enforced at the source; at least `rate`, or 0: none
  std::uint32_t reserved_permille = 1000;
  bool survives_link_failure = false;                              // as promised
  scheduler::Isolation isolation = scheduler::Isolation::planned;  // as asked for in the contract
  // Its own on every link of its routes, from 0. None: not asked for, or it crosses no link. Kept while the job runs,
  // unless routes change so that another job has it; while the guarantee is at risk, other jobs may be given it.
  std::optional<std::uint8_t> lane;
  // The loads after any single link failure are reserved too, as computed with `basis` out of use. Ends when a failure
  // uses that reservation up.
  bool covered = false;
  ViewBasis basis;

  std::uint64_t admitted_seq = 0;     // of the event that placed the job or gave it the guarantee
  std::int64_t at_risk_since_us = 0;  // 0: not at risk
  std::int64_t at_risk_total_us = 0;  // sum of earlier periods
  Message reason;                     // why it is at risk
  std::vector<std::string> links;     // that are full or down; at most kMaxLinks

  [[nodiscard]] bool at_risk() const { return at_risk_since_us != 0; }
  [[nodiscard]] std::int64_t at_risk_us(std::int64_t now_us) const {
    // The time of day may have been set back since.
    return at_risk_total_us + (at_risk() ? std::max<std::int64_t>(0, now_us - at_risk_since_us) : 0);
  }
  friend bool operator==(const JobGuarantee&, const JobGuarantee&) = default;
};

enum class GuaranteeChange : std::uint8_t {
  at_risk,   // the present routes cannot hold it
  restored,  // it holds again
  covered,   // what a single link failure needs is reserved again (covered) or was used up by a failure (not covered)
  lane_changed,  // it has another lane of its own: its ranks have to send with another service level
  amended,       // granted, changed or withdrawn with the contract or the classes
};
BOOST_DESCRIBE_ENUM(GuaranteeChange, at_risk, restored, covered, lane_changed, amended)
constexpr std::optional<std::string_view> enum_exception(GuaranteeChange change) {
  return change == GuaranteeChange::covered ? std::optional<std::string_view>("coverage") : std::nullopt;
}
constexpr std::string_view to_string(GuaranteeChange change) { return to_text(change); }

}  // namespace railweave::control
