// The whole audit of routes and their digest, on a thread of its own: it takes seconds on large fabrics.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/base/worker/computation.h"
#include "fabric/routing/audit/audit.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::control {

// Why routes must not be programmed; "": they may be.
std::string fault_of(const fabric::AuditReport& report);

// These planes alone are audited: what is known here of another subnet's switches says nothing about this one.
fabric::AuditReport audit_of(const fabric::FabricView& view, const fabric::Routing& routing,
                             std::span<const fabric::PlaneId> planes, const fabric::AuditOptions& options);

struct AuditedRoutes {
  fabric::AuditReport report;
  std::uint64_t digest = 0;
};

// One audit at a time, on one core. Used by one thread; the destructor waits for a running audit.
class RouteAudit {
 public:
  // deferred: computed in take().
  explicit RouteAudit(std::launch policy) : running_(policy) {}

  [[nodiscard]] bool is_running() const { return running_.is_running(); }
  // `version` is the caller's name for these routes; report and digest are of those planes.
  void start(const fabric::FabricView& view, const fabric::Routing& routing, std::vector<fabric::PlaneId> planes,
             std::uint64_t version, const fabric::AuditOptions& options = {});
  // A name that was not given out before, for callers that have none; never 0.
  [[nodiscard]] std::uint64_t unused_version() { return ++issued_; }
  // Returns when the running audit is finished.
  void wait() const { running_.wait(); }
  // None: not finished, or of routes that are not the caller's any more.
  std::optional<AuditedRoutes> take(std::uint64_t version);

 private:
  Computation<AuditedRoutes> running_;
  std::uint64_t version_ = 0, issued_ = 0;
};

}  // namespace railweave::control
