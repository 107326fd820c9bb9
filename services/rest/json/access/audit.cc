#include "services/rest/json/access/audit.h"

#include <variant>

#include "fabric/base/text/time_text.h"
#include "services/json/contract_object.h"

namespace railweave::api {

AuditEntry audit_entry(const db::ReportRow& row) {
  AuditEntry entry;
  for (const auto& [name, value] : row.columns) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      (name == "seq" ? entry.seq : entry.time_us) = *number;
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      auto& field = name == "actor"        ? entry.actor
                    : name == "kind"       ? entry.kind
                    : name == "subject"    ? entry.subject
                    : name == "request_id" ? entry.request_id
                    : name == "tenant"     ? entry.tenant
                    : name == "token"      ? entry.token
                                           : entry.summary;
      field = *text;
    }
  }
  return entry;
}

std::string write_audit_entry(const AuditEntry& entry) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Out(nullptr) : Out(text); };
  const auto blank = entry.subject.find(' ');  // "<kind> <id>"
  return dump(object<"AuditEntry">(
      with<"seq">(entry.seq), with<"time">(time_text(entry.time_us)), with<"actor">(entry.actor),
      with<"kind">(entry.kind),
      with<"subject">(object<"AuditEntry.subject">(
          with<"kind">(entry.subject.substr(0, blank)),
          with<"id">(blank == std::string::npos ? std::string() : entry.subject.substr(blank + 1)))),
      with<"summary">(entry.summary), with<"requestId">(or_null(entry.request_id)),
      with<"tenant">(or_null(entry.tenant)), with<"token">(or_null(entry.token))));
}

}  // namespace railweave::api
