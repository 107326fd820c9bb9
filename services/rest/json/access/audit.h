// The audit trail as JSON: who changed what, and by which request.
#pragma once

#include <cstdint>
#include <string>

#include "db/journal.h"

namespace railweave::api {

struct AuditEntry {
  std::int64_t seq = 0, time_us = 0;
  std::string actor, kind, subject, summary, request_id, tenant, token;
};
AuditEntry audit_entry(const db::ReportRow& row);  // of audit_trail
std::string write_audit_entry(const AuditEntry& entry);

}  // namespace railweave::api
