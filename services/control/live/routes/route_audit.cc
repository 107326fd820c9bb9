#include "services/control/live/routes/route_audit.h"

#include <memory>
#include <utility>

namespace railweave::control {

namespace {

fabric::AuditReport audit_alone(const fabric::FabricView& view, const fabric::ForwardingTables& tables,
                                const fabric::Lanes& lanes, std::span<const fabric::PlaneId> planes,
                                const fabric::AuditOptions& options) {
  fabric::PlaneReports reports(tables.scope().planes().size(), std::make_shared<const fabric::PlaneReport>());
  for (const fabric::PlaneId plane : planes) reports[plane.index()] = nullptr;
  return combined(view, tables, audit_planes(view, tables, lanes, options, std::move(reports)), options);
}

}  // namespace

fabric::AuditReport audit_of(const fabric::FabricView& view, const fabric::Routing& routing,
                             std::span<const fabric::PlaneId> planes, const fabric::AuditOptions& options) {
  return audit_alone(view, routing.tables, routing.lanes, planes, options);
}

std::string fault_of(const fabric::AuditReport& report) {
  if (report.verified()) return {};
  return report.findings.empty() ? "some pairs have no route" : report.findings.front().message;
}

void RouteAudit::start(const fabric::FabricView& view, const fabric::Routing& routing,
                       std::vector<fabric::PlaneId> planes, std::uint64_t version,
                       const fabric::AuditOptions& options) {
  version_ = version;
  running_.start([view, options, tables = routing.tables, lanes = routing.lanes, planes = std::move(planes)] {
    return AuditedRoutes{audit_alone(view, tables, lanes, planes, options), tables.digest(planes)};
  });
}

std::optional<AuditedRoutes> RouteAudit::take(std::uint64_t version) {
  auto made = running_.take();
  if (version != version_) return std::nullopt;
  return made;
}

}  // namespace railweave::control
