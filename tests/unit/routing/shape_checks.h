// Shared by the tests of the engines for particular shapes.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "fabric/routing/audit/audit.h"
#include "fabric/routing/engine_registry.h"
#include "tests/unit/routing/naive_checker.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric::testing {

// Expects that tables are complete and free of credit loops by the naive checker, and that the audit agrees.
inline NaiveReport expect_verified(const RoutingInput& input, const Routing& routing, const std::string& what) {
  const NaiveReport naive = check_naively(input.view, routing);
  EXPECT_EQ(naive.failed, 0U) << what << ": " << naive.text();
  EXPECT_EQ(naive.unreachable, naive.disconnected) << what;
  EXPECT_FALSE(naive.credit_loop) << what;
  EXPECT_LE(naive.lanes, routing.lanes.used()) << what;
  EXPECT_LE(routing.lanes.used(), input.max_lanes) << what;
  const AuditReport report = audit(input.view, routing.tables, routing.lanes);
  EXPECT_TRUE(report.verified()) << what;
  EXPECT_EQ(report.drained_entries, 0U) << what;
  EXPECT_EQ(report.unreachable_pairs, naive.unreachable) << what;
  return naive;
}

inline bool has_finding(const Routing& routing, std::string_view code) {
  for (const Finding& finding : routing.findings) {
    if (finding.code == code) return true;
  }
  return false;
}

// One random failure: a link down or drained, sometimes a switch drained.
inline void fail_at_random(FabricView& view, std::mt19937_64& random) {
  const Topology& t = view.topology();
  const LinkId link(random() % t.links().size());
  switch (random() % 8) {
    case 0:
      view.set_drained(SwitchId(random() % t.switches().size()), true);
      break;
    case 1:
      view.set_drained(link, true);
      break;
    default:
      if (t.joins_switches(link) || random() % 8 == 0) view.set_state(link, LinkState::down);
  }
}

}  // namespace railweave::fabric::testing
