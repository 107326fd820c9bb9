// railweave tokens list|issue|revoke.
#include <optional>

#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"

namespace railweave::cli {
namespace {

ListView tokens_view() {
  return {{text_column("TOKEN", "id"), text_column("NAME", "name"), text_column("ROLE", "role"),
           text_column("TENANT", "tenant"), text_column("NODE", "node"), text_column("STATE", "state"),
           time_column("EXPIRES", "expiresAt"), spare_time_column("ISSUED", "issuedAt"), age_column("issuedAt"),
           text_column("BY", "issuedBy", true)},
          "no tokens"};
}

constexpr ResourceKind kToken{"/v1/tokens", "token", "TOKEN", "Its id, as in railweave tokens list", nullptr};

struct IssueOptions {
  std::string name, role, tenant, node, expires, file;
};

void issue(Session& session, const IssueOptions& options) {
  Json body{{"name", options.name}, {"role", options.role}};
  if (!options.tenant.empty()) body["tenant"] = options.tenant;
  if (!options.node.empty()) body["node"] = options.node;
  if (!options.expires.empty()) body["expiresAt"] = options.expires;
  Json token = session.service().post(Target(kToken.path), body);
  if (!options.file.empty()) {
    write_file(options.file, text_of(token, "token") + "\n", 0600);
    token.erase("token");
  }
  if (session.output.is_document()) return session.output.document(token);
  session.output.note("railweave: token " + text_of(token, "id") + " of " + options.name +
                      (options.file.empty() ? " is shown this once" : " is in " + options.file));
  if (options.file.empty()) session.output.text(text_of(token, "token") + "\n");
}

// There is no answer of one token, so it is looked for in the list.
void show_what_would_be_revoked(Session& session, const std::string& id) {
  std::optional<Json> found;
  session.service().each_item(
      Target(kToken.path), 0,
      [&](const Json& token) {
        if (text_of(token, "id") == id) found = token;
      },
      [] {});
  if (!found) {
    throw CommandFailure({ErrorKind::notFound,
                          "tokens.notFound",
                          "there is no token '" + id + "'",
                          {},
                          "railweave tokens list lists them"});
  }
  if (session.output.is_document()) return session.output.document(*found);
  Sheet sheet;
  sheet.add(id, "of " + text_of(*found, "name") + ", " + text_of(*found, "role"));
  session.output.text(sheet.text(session.output.terminal()));
  note_dry_run(session, "token " + id + " would be revoked");
}

}  // namespace

void add_token_commands(CLI::App& root, Session& session) {
  CLI::App& tokens = add_noun(root, "tokens", "Tokens: who may use the service, and as what", "Jobs");
  tokens.alias("token");
  add_list_command(tokens, session, "List tokens", {"railweave tokens list"}, {kToken.path, tokens_view()});
  auto options = std::make_shared<IssueOptions>();
  CLI::App& command =
      add_command(tokens, "issue", "Issue a token, which is shown once",
                  {"railweave tokens issue alice --role operator",
                   "railweave tokens issue ci --role member --tenant research --expires 2027-01-01T00:00:00Z"
                   " --token-file ci.token",
                   "railweave tokens issue agent-7 --role agent --node node-7 --token-file node-7.token"});
  command.add_option("NAME", options->name, "Whose it is; changes are recorded for this name")->required();
  add_choice_option(command, "--role", options->role, "What it may do", "viewer|member|operator|administrator|agent")
      ->required();
  command.add_option("--tenant", options->tenant, "The tenant of a member")->type_name("NAME");
  command.add_option("--node", options->node, "The node of an agent")->type_name("NAME");
  command.add_option("--expires", options->expires, "When it ends; never by default")->type_name("TIME");
  command.add_option("--token-file", options->file, "Write it to this file, of mode 0600, instead of stdout")
      ->type_name("FILE");
  on_run(command, session, [&session, options] { issue(session, *options); });
  CLI::App& revoke = add_command(tokens, "revoke", "Revoke a token: what shows it is refused from then on",
                                 {"railweave tokens revoke abcdefghij45"});
  auto names = add_names(revoke, kToken);
  auto dry_run = add_dry_run(revoke, "Only show which tokens would be revoked");
  on_run(revoke, session, [&session, names, dry_run] {
    for_each_name(session, *names, [&session, dry_run](const std::string& id) {
      if (*dry_run) return show_what_would_be_revoked(session, id);
      session.service().remove(Target(kToken.path).segment(id));
      session.output.note("railweave: token " + id + " is revoked");
    });
  });
}

}  // namespace railweave::cli
