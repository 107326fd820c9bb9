// railweave tokens list|issue|revoke.
#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/output_file.h"

namespace railweave::cli {
namespace {

ListView tokens_view() {
  return {{text_column("TOKEN", "id"), text_column("NAME", "name"), text_column("ROLE", "role"),
           text_column("TENANT", "tenant"), text_column("NODE", "node"), text_column("STATE", "state"),
           time_column("EXPIRES", "expiresAt"), time_column("ISSUED", "issuedAt"), text_column("BY", "issuedBy", true)},
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
  on_run(revoke, session, [&session, names] {
    for_each_name(session, *names, [&session](const std::string& id) {
      session.service().remove(Target(kToken.path).segment(id));
      session.output.note("railweave: token " + id + " is revoked");
    });
  });
}

}  // namespace railweave::cli
