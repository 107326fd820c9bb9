// railweave audit list: who changed what, and by which request.
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"

namespace railweave::cli {
namespace {

ListView audit_view() {
  return {{text_column("SEQ", "seq"), time_column("TIME", "time"), text_column("BY", "actor"),
           text_column("TENANT", "tenant", true), text_column("TOKEN", "token", true),
           text_column("REQUEST", "requestId"), text_column("KIND", "kind"), text_column("SUMMARY", "summary")},
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
                     {"--since", "since", "TIME", "Only changes at this time and later"},
                     {"--request", "requestId", "ID", "Only changes that this request made"}}});
}

}  // namespace railweave::cli
