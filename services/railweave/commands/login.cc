// railweave login|logout|whoami|profiles.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <utility>

#include <termios.h>
#include <unistd.h>

#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

constexpr const char* kFirstProfile = "default";

// Typed without being shown, where a terminal is there.
std::string typed_token(Session& session) {
  termios shown{};
  const bool terminal = ::tcgetattr(STDIN_FILENO, &shown) == 0;
  if (terminal) {
    termios hidden = shown;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    (void)::tcsetattr(STDIN_FILENO, TCSANOW, &hidden);
    session.output.note("Token (it is not shown): ");
  }
  std::string line;
  std::getline(std::cin, line);
  if (terminal) (void)::tcsetattr(STDIN_FILENO, TCSANOW, &shown);
  return line;
}

std::string read_token(Session& session, const std::string& file) {
  std::string token;
  if (file.empty() || file == "-") {
    token = typed_token(session);
  } else {
    std::ifstream in(file);
    if (!in || !std::getline(in, token)) {
      throw CommandFailure({ErrorKind::invalid, "cli.cannotReadFile", "no token can be read there", file,
                            "name the file that holds it, such as that of railweave tokens issue --token-file"});
    }
  }
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
  if (token.empty()) {
    throw CommandFailure({ErrorKind::invalid,
                          "cli.noToken",
                          "there is no token",
                          {},
                          "give it on stdin or with --token-file; railweaved names the file of the first one"});
  }
  return token;
}

// As a profile is used from other folders too.
std::string absolute(const std::string& file) { return file.empty() ? file : std::filesystem::absolute(file).string(); }

std::string caller_text(const Json& caller) {
  const std::string role = text_of(caller, "role");
  std::string text = text_of(caller, "name") + ", " + role;
  if (field(caller, "tenant").is_string()) text += " of tenant " + text_of(caller, "tenant");
  if (field(caller, "node").is_string()) text += " of node " + text_of(caller, "node");
  if (text_of(caller, "authentication") == "none") text += " (the service asks for no token)";
  return text;
}

struct LoginOptions {
  std::string token_file, certificate, key;
  bool use = false;
};

// Which profile commands use from now on is changed by the first login, by one without --profile, and by --use.
std::string saved_text(const Credentials& known, const std::string& name, const std::string& before) {
  if (known.current != name) {
    return "; saved as profile " + name + ", while profile " + known.current +
           " stays in use (railweave profiles use " + name + " changes it)";
  }
  const bool changed = !before.empty() && before != name;
  return "; saved as profile " + name + (changed ? ", which is in use now instead of " + before : "");
}

void log_in(Session& session, const LoginOptions& options) {
  const std::string name = session.options.profile.empty() ? kFirstProfile : session.options.profile;
  const auto file = credentials_file();
  Credentials known = value_or_fail(read_credentials(file));
  Login login{
      session.options.server, {}, session.options.ca_file, absolute(options.certificate), absolute(options.key)};
  if (login.server.empty()) {
    const auto before = known.profiles.find(name);
    login.server = before == known.profiles.end() ? default_server() : before->second.server;
    if (before != known.profiles.end() && login.ca_file.empty()) login.ca_file = before->second.ca_file;
  }
  Service service = session.service_of(login);  // refuses an address before a token is asked for
  // A certificate is enough, and so is being root at the socket of this machine.
  const bool by_connection = !login.certificate_file.empty() || login.server.starts_with("unix:");
  if (!by_connection || !options.token_file.empty()) login.token = read_token(session, options.token_file);
  if (!login.token.empty()) service = session.service_of(login);
  const Json caller = service.get(Target("/v1/whoami"));
  const std::string before = known.profiles.contains(known.current) ? known.current : std::string();
  known.profiles[name] = login;
  if (before.empty() || options.use || session.options.profile.empty()) known.current = name;
  write_credentials(file, known);
  if (session.output.is_document()) return session.output.document(caller);
  session.output.text("logged in to " + login.server + " as " + caller_text(caller) + saved_text(known, name, before) +
                      "\n");
}

void log_out(Session& session) {
  const auto file = credentials_file();
  Credentials known = value_or_fail(read_credentials(file));
  const std::string name = session.options.profile.empty() ? known.current : session.options.profile;
  if (known.profiles.erase(name) == 0) {
    throw CommandFailure({ErrorKind::notFound,
                          "cli.noProfile",
                          name.empty() ? "no login is saved" : "there is no profile '" + name + "'",
                          {},
                          {}});
  }
  if (known.current == name) known.current = known.profiles.empty() ? "" : known.profiles.begin()->first;
  write_credentials(file, known);
  session.output.text("profile " + name + " removed; its token stays valid until it expires or is revoked\n");
}

void show_caller(Session& session) {
  const Json caller = session.service().get(Target("/v1/whoami"));
  if (session.output.is_document()) return session.output.document(caller);
  session.output.text(caller_text(caller) + ", at " + session.service().url() + "\n");
}

void list_profiles(Session& session) {
  const Credentials known = value_or_fail(read_credentials(credentials_file()));
  Json items = Json::array();
  Table table({{"PROFILE"}, {"IN USE"}, {"SERVER"}});
  for (const auto& [name, login] : known.profiles) {
    const bool current = name == known.current;
    items.push_back({{"id", name}, {"server", login.server}, {"current", current}});
    table.add({name, current ? "yes" : "", login.server});
  }
  if (session.output.is_document()) return session.output.document(Json{{"items", std::move(items)}});
  if (known.profiles.empty()) return session.output.note("no profiles (railweave login makes one)");
  session.output.text(table.text(session.output.terminal()));
}

void use_profile(Session& session, const std::string& name) {
  const auto file = credentials_file();
  Credentials known = value_or_fail(read_credentials(file));
  if (!known.profiles.contains(name)) {
    throw CommandFailure({ErrorKind::notFound,
                          "cli.noProfile",
                          "there is no profile '" + name + "'",
                          {},
                          "railweave profiles list shows them"});
  }
  known.current = name;
  write_credentials(file, known);
  session.output.text("profile " + name + " is in use\n");
}

}  // namespace

void add_login_commands(CLI::App& root, Session& session) {
  auto options = std::make_shared<LoginOptions>();
  CLI::App& login =
      add_command(root, "login", "Save a token for a service, after trying it",
                  {"railweave login --token-file var/railweave.db.admin-token",
                   "railweave login --server http://127.0.0.1:7470 --profile west --use < token.txt",
                   "railweave login --server https://fabric.example:7470 --certificate agent.pem --key agent.key"});
  login.group("Service");
  login.add_option("--token-file", options->token_file, "File of the token; by default it is read from stdin")
      ->type_name("FILE");
  CLI::Option* certificate =
      login.add_option("--certificate", options->certificate, "Certificate to show to the service, in PEM")
          ->type_name("FILE");
  CLI::Option* key = login.add_option("--key", options->key, "Its key, in PEM")->type_name("FILE");
  login.add_flag("--use", options->use, "With --profile: use this login from now on");
  certificate->needs(key);
  key->needs(certificate);
  on_run(login, session, [&session, options] { log_in(session, *options); });
  CLI::App& logout =
      add_command(root, "logout", "Forget a saved token", {"railweave logout", "railweave logout --profile west"});
  logout.group("Service");
  on_run(logout, session, [&session] { log_out(session); });
  CLI::App& whoami = add_command(root, "whoami", "Print who the service takes you for", {"railweave whoami"});
  whoami.group("Service");
  on_run(whoami, session, [&session] { show_caller(session); });

  CLI::App& profiles = add_noun(root, "profiles", "Saved logins, for several clusters", "Service");
  profiles.alias("profile");
  CLI::App& listed = add_command(profiles, "list", "List saved logins", {"railweave profiles list"});
  on_run(listed, session, [&session] { list_profiles(session); });
  auto name = std::make_shared<std::string>();
  CLI::App& use = add_command(profiles, "use", "Use a saved login from now on", {"railweave profiles use west"});
  use.add_option("NAME", *name, "Its name")->required();
  on_run(use, session, [&session, name] { use_profile(session, *name); });
}

}  // namespace railweave::cli
