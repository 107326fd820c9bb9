// railweave audit list: who changed what, and by which request.
#include "fabric/base/text/time_text.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/age.h"

namespace railweave::cli {
namespace {

std::string since_text(const std::string& since) {
  const auto time = past_time_us(since);
  return time ? time_text(*time) : since;  // what is no time is refused by the service
}

ListView audit_view() {
  return {{text_column("SEQ", "seq"), spare_time_column("TIME", "time"), age_column("time"), text_column("BY", "actor"),
           text_column("TENANT", "tenant", true), text_column("TOKEN", "token", true),
           text_column("REQUEST", "requestId"), text_column("KIND", "kind"), sentence_column("SUMMARY", "summary")},
          "no changes"};
}

}  // namespace

void add_audit_commands(CLI::App& root, Session& session) {
  CLI::App& audit = add_noun(root, "audit", "Who changed what, and by which request", "Service");
  add_list_command(audit, session, "List changes, oldest first",
                   {"railweave audit list --actor alice", "railweave audit list --since 2026-11-21T09:00:00Z",
                    "railweave audit list --kind token.issued -o wide"},
                   {"/v1/audit",
                    audit_view(),
                    {{"--actor", "actor", "NAME", "Only changes of this actor"},
                     {"--kind", "kind", "KIND", "Only changes of this kind, such as token.issued"},
                     {"--since", "since", "TIME",
                      "Only changes since this time (RFC 3339), or since as long ago as 2h or 7d", "", since_text},
                     {"--request", "requestId", "ID", "Only changes that this request made"},
                     {"--from-journal", "fromJournal", nullptr,
                      "Read from the journal, not from the table: as far back as events are kept", "true"}}});
}

}  // namespace railweave::cli
