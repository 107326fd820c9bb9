#include "services/control/live/routes/route_audit.h"

#include <chrono>
#include <utility>

#include "fabric/base/check.h"

namespace railweave::control {

std::string fault_of(const fabric::AuditReport& report) {
  if (report.verified()) return {};
  return report.findings.empty() ? "some pairs have no route" : report.findings.front().message;
}

void RouteAudit::start(const fabric::FabricView& view, const fabric::Routing& routing,
                       std::vector<fabric::PlaneId> planes, std::uint64_t version,
                       const fabric::AuditOptions& options) {
  RAILWEAVE_CHECK(!is_running(), "one audit at a time");
  version_ = version;
  running_ =
      std::async(policy_, [view, options, tables = routing.tables, lanes = routing.lanes, planes = std::move(planes)] {
        return AuditedRoutes{fabric::audit(view, tables, lanes, options), tables.digest(planes)};
      });
}

std::optional<AuditedRoutes> RouteAudit::take(std::uint64_t version) {
  if (!is_running() || running_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return std::nullopt;
  AuditedRoutes made = running_.get();
  if (version != version_) return std::nullopt;
  return made;
}

}  // namespace railweave::control
