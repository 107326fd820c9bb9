#include "services/railweaved/config.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <optional>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <toml++/toml.h>

#include "fabric/base/enum_text.h"
#include "fabric/base/whole_number.h"
#include "services/railweaved/engine_setting.h"

namespace railweave {
namespace {

std::string where(const std::filesystem::path& file, const toml::source_region& source) {
  return fmt::format("{}: line {}, column {}", file.string(), source.begin.line, source.begin.column);
}

class ConfigFile {
 public:
  ConfigFile(const std::filesystem::path& file, const toml::table& table) : file_(file), table_(table) {}

  void read(std::string_view key, std::string& into) {
    if (const auto* node = find(key)) {
      if (const auto value = node->value_exact<std::string>()) {
        into = *value;
      } else {
        wrong(key, *node, "a string");
      }
    }
  }
  void read(std::string_view key, bool& into) {
    if (const auto* node = find(key)) {
      if (const auto value = node->value_exact<bool>()) {
        into = *value;
      } else {
        wrong(key, *node, "true or false");
      }
    }
  }
  template <DescribedEnum Enum>
  void read_enum(std::string_view key, Enum& into) {
    const auto* node = find(key);
    if (node == nullptr) return;
    const auto text = node->value_exact<std::string>();
    const auto value = text ? parse_enum<Enum>(*text) : std::nullopt;
    if (!value) return wrong(key, *node, "one of " + std::string(enum_texts<Enum>()));
    into = *value;
  }
  template <class Number>
  void read(std::string_view key, Number& into, std::int64_t min, std::int64_t max) {
    if (const auto* node = find(key)) {
      const auto value = node->value_exact<std::int64_t>();
      if (value && *value >= min && *value <= max) {
        into = static_cast<Number>(*value);
      } else {
        wrong(key, *node, fmt::format("a whole number from {} to {}", min, max));
      }
    }
  }

  void read(std::string_view key, std::vector<std::string>& into) {
    const auto* node = find(key);
    if (node == nullptr) return;
    const auto* array = node->as_array();
    if (array == nullptr || array->size() > 64) return wrong(key, *node, "a list of at most 64 strings");
    into.clear();
    for (const auto& item : *array) {
      const auto value = item.value_exact<std::string>();
      if (!value) return wrong(key, *node, "a list of at most 64 strings");
      into.push_back(*value);
    }
  }

  template <class ReadTable>
  void read_table(std::string_view key, ReadTable read) {
    const auto* node = find(key);
    if (node == nullptr) return;
    const auto* table = node->as_table();
    if (table == nullptr) return wrong(key, *node, fmt::format("a table, [{}]", key));
    ConfigFile entry(file_, *table);
    read(entry);
    if (auto done = entry.finish(); !done && !error_) error_ = done.error();
  }

  // An array of up to `max_size` tables, each read by `read_table`.
  template <class ReadTable>
  void read_tables(std::string_view key, std::size_t max_size, ReadTable read_table) {
    const auto* node = find(key);
    if (node == nullptr) return;
    const auto* array = node->as_array();
    if (array == nullptr || !array->is_array_of_tables() || array->size() > max_size) {
      return wrong(key, *node, fmt::format("up to {} tables, [[{}]]", max_size, key));
    }
    for (const auto& item : *array) {
      ConfigFile entry(file_, *item.as_table());
      read_table(entry);
      if (auto done = entry.finish(); !done && !error_) error_ = done.error();
    }
  }

  // A table of texts by keys that are the operator's own.
  void read_texts(std::string_view key, std::vector<std::pair<std::string, std::string>>& into) {
    const auto* node = find(key);
    if (node == nullptr) return;
    if (!node->is_table() || node->as_table()->size() > 64) return wrong(key, *node, "a table of at most 64 strings");
    for (const auto& [name, value] : *node->as_table()) {
      const auto text = value.value_exact<std::string>();
      if (!text) return wrong(key, *node, "a table of at most 64 strings");
      into.emplace_back(name.str(), *text);
    }
  }

  void refuse(std::string code, std::string message, std::string hint) {
    if (error_) return;
    error_ =
        Error{ErrorKind::invalid, std::move(code), std::move(message), where(file_, table_.source()), std::move(hint)};
  }

  Result<void> finish() {
    if (error_) return std::unexpected(*error_);
    for (const auto& [key, node] : table_) {
      if (std::ranges::find(known_, key.str()) != known_.end()) continue;
      const std::string keys = fmt::format("{}", fmt::join(known_, ", "));
      return fail(ErrorKind::invalid, "config.unknownKey", fmt::format("there is no key '{}'", key.str()),
                  where(file_, node.source()), "the keys are " + keys);
    }
    return {};
  }

 private:
  const toml::node* find(std::string_view key) {
    known_.push_back(key);
    return table_.get(key);
  }
  void wrong(std::string_view key, const toml::node& node, const std::string& wanted) {
    if (!error_) {
      error_ = Error{ErrorKind::invalid,
                     "config.wrongValue",
                     fmt::format("'{}' must be {}", key, wanted),
                     where(file_, node.source()),
                     {}};
    }
  }

  const std::filesystem::path& file_;
  const toml::table& table_;
  std::vector<std::string_view> known_;
  std::optional<Error> error_;
};

Result<void> set_trusted_proxies(Config& config, const std::vector<std::string>& networks, const std::string& where) {
  for (const std::string& text : networks) {
    const auto network = api::Network::parse(text);
    if (!network) {
      return fail(ErrorKind::invalid, "config.badNetwork", "'" + text + "' is no address and no network", where,
                  "trusted_proxies are like 10.0.0.0/8 or 2001:db8::7");
    }
    config.access.trusted_proxies.push_back(*network);
  }
  return {};
}

Result<void> set_authentication(Config& config, const std::string& name, const std::string& where) {
  if (name != "tokens" && name != "none") {
    return fail(ErrorKind::invalid, "config.badAuthentication", "there is no authentication '" + name + "'", where,
                "tokens, or none: whoever reaches the address may do everything");
  }
  config.access.authentication = name == "none" ? Authentication::none : Authentication::tokens;
  return {};
}

std::optional<control::Role> role_of(ConfigFile& entry, const std::string& name) {
  if (const auto role = parse_enum<control::Role>(name)) return role;
  entry.refuse("config.badRole", "there is no role '" + name + "'", "viewer, member, operator, administrator or agent");
  return std::nullopt;
}

void read_certificate(ConfigFile& entry, AccessConfig& access) {
  api::CertificateAccount account;
  std::string role;
  entry.read("name", account.name);
  entry.read("role", role);
  entry.read("tenant", account.tenant);
  entry.read("node", account.node);
  account.role = role_of(entry, role).value_or(control::Role::viewer);
  if (account.name.empty())
    entry.refuse("config.certificate", "an [[access.certificate]] has no name", "name = \"agent.example\"");
  if ((account.role == control::Role::member) == account.tenant.empty()) {
    entry.refuse("config.certificate",
                 "'" + account.name + "' needs a tenant if it is a member, and must have none otherwise", {});
  }
  if ((account.role == control::Role::agent) == account.node.empty()) {
    entry.refuse("config.certificate",
                 "'" + account.name + "' needs a node if it is an agent, and must have none otherwise", {});
  }
  access.certificates.push_back(std::move(account));
}

void read_replica(ConfigFile& entry, ReplicaConfig& replica) {
  entry.read("name", replica.name);
  entry.read("url", replica.url);
  entry.read("ca_file", replica.ca_file);
  entry.read("certificate_file", replica.certificate_file);
  entry.read("key_file", replica.key_file);
  entry.read("peers", replica.peers);
  entry.read("lease_seconds", replica.lease_seconds, 1, 60);
}

void read_webhooks(ConfigFile& entry, WebhookConfig& webhooks) {
  entry.read("loopback", webhooks.loopback);
  entry.read("link_local", webhooks.link_local);
  entry.read("ca_file", webhooks.ca_file);
  entry.read("timeout_seconds", webhooks.timeout_seconds, 1, 60);
  entry.read("retry_seconds", webhooks.retry_seconds, 1, 300);
  entry.read("give_up_seconds", webhooks.give_up_seconds, 1, std::int64_t{30} * 86'400);
  entry.read("report_seconds", webhooks.report_seconds, 1, 3'600);
}

void read_oidc(ConfigFile& entry, AccessConfig& access) {
  api::Oidc::Options& oidc = access.oidc.emplace();
  std::vector<std::pair<std::string, std::string>> roles;
  entry.read("issuer", oidc.rules.issuer);
  entry.read("audience", oidc.rules.audience);
  entry.read("keys", oidc.keys);
  entry.read("ca_file", oidc.ca_file);
  entry.read("name_claim", oidc.rules.name_claim);
  entry.read("role_claim", oidc.rules.role_claim);
  entry.read("tenant_claim", oidc.rules.tenant_claim);
  api::OidcClient client{.issuer = oidc.rules.issuer};
  entry.read("client_id", client.client_id);
  entry.read("scope", client.scope);
  entry.read("resource", client.resource);
  client.shows_id_token = oidc.rules.audience == client.client_id;
  if (!client.client_id.empty()) {
    if (api::origin_of_issuer(client.issuer).empty()) {
      entry.refuse("config.oidc", "with client_id, the issuer is an https URL, or an http one on a loopback address",
                   "issuer = \"https://...\"");
    }
    access.console_client = std::move(client);
  }
  entry.read_texts("roles", roles);
  for (const auto& [said, name] : roles) {
    const auto role = role_of(entry, name);
    if (role == control::Role::agent) entry.refuse("config.oidc", "people are no agents: '" + said + "'", {});
    if (role) oidc.rules.roles[said] = *role;
  }
  if (oidc.rules.issuer.empty() || oidc.rules.audience.empty() || oidc.keys.empty() || oidc.rules.roles.empty()) {
    entry.refuse("config.oidc", "[access.oidc] needs issuer, audience, keys and [access.oidc.roles]",
                 "see config.toml.example");
  }
  if (oidc.keys.find("://") != std::string::npos && !oidc.keys.starts_with("https://")) {
    entry.refuse("config.oidc", "the provider's keys come from a file or over https", "keys = \"https://...\"");
  }
}

void read_history(ConfigFile& keys, LiveConfig& live) {
  keys.read("counter_history_seconds", live.counter_history_seconds, 1, 3'600);
  keys.read("counter_history_megabytes", live.counter_history_megabytes, 0, 1'000'000);
}

void read_subnet(ConfigFile& entry, LiveConfig& live) {
  SubnetConfig subnet;
  entry.read("name", subnet.name);
  entry.read("adapter", subnet.adapter);
  entry.read("port", subnet.port, 0, 254);
  entry.read("opensm_socket", subnet.opensm_socket);
  entry.read("opensm_files", subnet.opensm_files);
  entry.read("sweep_seconds", subnet.sweep_seconds, 1, 86'400);
  entry.read("look_seconds", subnet.look_seconds, 1, 3'600);
  entry.read("counter_seconds", subnet.counter_seconds, 1, 86'400);
  entry.read("window", subnet.window, 1, 64);
  entry.read("damping", subnet.damping);
  entry.read("damping_flaps", subnet.damping_flaps, 1, 100);
  entry.read("damping_window_seconds", subnet.damping_window_seconds, 1, 86'400);
  entry.read("damping_hold_seconds", subnet.damping_hold_seconds, 1, 86'400);
  entry.read("damping_percent", subnet.damping_percent, 0, 100);
  entry.read("rebalance", subnet.rebalance);
  entry.read("rebalance_seconds", subnet.rebalance_seconds, 1, 86'400);
  entry.read("follow_jobs", subnet.follow_jobs);
  entry.read("compare_engines", subnet.compare_engines);
  entry.read("take_better_engine", subnet.take_better_engine);
  entry.read("engine_hold_seconds", subnet.engine_hold_seconds, 1, 31'536'000);
  entry.read("several_lanes", subnet.several_lanes);
  entry.read("administration", subnet.administration);
  entry.read("administration_key_file", subnet.administration_key_file);
  entry.read("use_swapped_cables", subnet.use_swapped_cables);
  entry.read_enum("accept_replacements", subnet.accept_replacements);
  entry.read_enum("ingress_filter", subnet.ingress_filter);
  entry.read("key_file", subnet.key_file);
  entry.read("opensm_key_file", subnet.opensm_key_file);
  entry.read("key_lease_seconds", subnet.key_lease_seconds, 0, 65'535);
  live.subnets.push_back(std::move(subnet));
}

Result<void> read_file(const std::filesystem::path& file, Config& config) {
  toml::table table;
  try {
    table = toml::parse_file(file.string());
  } catch (const toml::parse_error& error) {
    return fail(ErrorKind::malformed, "config.unreadable", std::string(error.description()),
                where(file, error.source()), "the file is TOML; see config.toml.example");
  }
  ConfigFile keys(file, table);
  std::string store = config.store;
  std::string console = config.console.string();
  keys.read("listen_address", config.listen_address);
  keys.read("listen_port", config.listen_port, 0, 65'535);
  keys.read("store", store);
  keys.read("console", console);
  std::string authentication = "tokens", admin_token_file;
  keys.read("authentication", authentication);
  keys.read("admin_token_file", admin_token_file);
  keys.read("tls_certificate", config.access.tls_certificate);
  keys.read("tls_key", config.access.tls_key);
  keys.read("tls_client_ca", config.access.tls_client_ca);
  keys.read("socket", config.socket);
  keys.read_table("access", [&access = config.access](ConfigFile& table_of_access) {
    table_of_access.read_tables("certificate", 1'000, [&](ConfigFile& entry) { read_certificate(entry, access); });
    table_of_access.read_table("oidc", [&](ConfigFile& entry) { read_oidc(entry, access); });
  });
  keys.read("requests_per_second", config.access.requests_per_second, 0, 1'000'000);
  keys.read("requests_at_once", config.access.requests_at_once, 1, 1'000'000);
  std::string certificate_key;
  keys.read("certificate_key", certificate_key);
  config.guarantees.certificate_key = certificate_key;
  keys.read("host_names", config.access.host_names);
  std::vector<std::string> trusted_proxies;
  keys.read("trusted_proxies", trusted_proxies);
  keys.read("log_level", config.log.level);
  keys.read("log_requests", config.log.requests);
  keys.read("slow_request_ms", config.log.slow_request_ms, 1, 86'400'000);
  keys.read("reroute_for_guarantees", config.guarantees.reroute);
  keys.read("queue_limit", config.queue_limit, 1, 1'000'000);
  keys.read("snapshot_every", config.snapshot_every, 1, 100'000'000);
  keys.read("keep_events", config.kept.events, 0, INT64_MAX);
  keys.read("keep_reports", config.kept.reports);
  keys.read("max_waiting_jobs", config.max_waiting_jobs, 1, 1'000'000);
  keys.read("max_connections", config.max_connections, 1, 100'000);
  keys.read("max_connections_per_address", config.max_connections_per_address, 0, 100'000);
  keys.read("max_streams", config.max_streams, 0, 100'000);
  keys.read("idle_seconds", config.idle_seconds, 1, 86'400);
  keys.read("request_seconds", config.request_seconds, 1, 86'400);
  keys.read("answer_seconds", config.answer_seconds, 1, 86'400);
  keys.read("write_seconds", config.write_seconds, 1, 86'400);
  keys.read("stop_seconds", config.stop_seconds, 1, 86'400);
  read_history(keys, config.live);
  keys.read("routing_engine", config.live.routing_engine);
  keys.read("routing_lanes", config.live.routing_lanes, 1, 8);
  keys.read("compute_threads", config.compute_threads, 1, 256);
  config.store = store;
  config.access.admin_token_file = admin_token_file;
  if (auto set = set_trusted_proxies(config, trusted_proxies, file.string()); !set) return set;
  if (auto set = set_authentication(config, authentication, file.string()); !set) return set;
  config.console = console;
  keys.read_table("replica", [&config](ConfigFile& entry) { read_replica(entry, config.replica); });
  keys.read_table("webhooks", [&config](ConfigFile& entry) { read_webhooks(entry, config.webhooks); });
  keys.read_tables("subnet", 64, [&config](ConfigFile& entry) { read_subnet(entry, config.live); });
  if (auto done = keys.finish(); !done) return done;
  std::set<std::string> names;
  for (const auto& subnet : config.live.subnets) {
    if (!subnet.name.empty() && names.insert(subnet.name).second) continue;
    return fail(
        ErrorKind::invalid, "config.subnetName",
        subnet.name.empty() ? "a [[subnet]] has no name" : "two [[subnet]] tables have the name '" + subnet.name + "'",
        file.string(), "use the subnet's name in the accepted topology: name = \"compute\"");
  }
  return {};
}

// "127.0.0.1:7470"
Result<void> set_listen(Config& config, const std::string& listen) {
  const auto colon = listen.rfind(':');
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : whole_number<std::uint16_t>(std::string_view(listen).substr(colon + 1));
  if (!port) {
    return fail(ErrorKind::invalid, "config.badListen", "'" + listen + "' is not an address and port", "--listen",
                "write it like 127.0.0.1:7470");
  }
  config.listen_address = listen.substr(0, colon);
  config.listen_port = *port;
  return {};
}

// What does not go together, wherever it was set.
Result<void> check_together(Config& config) {
  auto levels = log::Levels::parse(config.log.level);
  if (!levels) return std::unexpected(levels.error());
  config.log.levels = *levels;
  if (config.access.tls_certificate.empty() != config.access.tls_key.empty()) {
    return fail(ErrorKind::invalid, "config.tls", "tls_certificate and tls_key go together",
                config.access.tls_key.empty() ? "tls_key" : "tls_certificate", "name both, or neither for plain http");
  }
  if (!config.access.tls_client_ca.empty() && config.access.tls_certificate.empty()) {
    return fail(ErrorKind::invalid, "config.tls", "clients show certificates over TLS only", "tls_client_ca",
                "name tls_certificate and tls_key too");
  }
  if (!config.access.certificates.empty() && config.access.tls_client_ca.empty()) {
    return fail(ErrorKind::invalid, "config.tls", "no certificate is asked for without tls_client_ca",
                "[[access.certificate]]", "name the authorities of clients");
  }
  const ReplicaConfig& replica = config.replica;
  const bool any = !replica.certificate_file.empty() || !replica.key_file.empty() || !replica.peers.empty();
  const bool all = !replica.certificate_file.empty() && !replica.key_file.empty() && !replica.peers.empty();
  if (any && (!all || config.access.tls_client_ca.empty())) {
    return fail(ErrorKind::invalid, "config.replica",
                "certificate_file, key_file and peers of replicas go together, with tls_client_ca", "[replica]",
                "each replica shows its certificate to the one that leads, and any of them may lead");
  }
  return check_engine(config.live);
}

}  // namespace

Result<CommandLine> read_config(const std::vector<std::string>& arguments) {
  CommandLine line;
  CLI::App app("railweaved: the Railweave service. Models the fabric, places jobs on it, serves the REST API.",
               "railweaved");
  app.set_version_flag("--version", "railweaved " RAILWEAVE_VERSION);
  std::optional<std::string> file;
  std::optional<std::string> listen;
  std::optional<std::string> store;
  std::optional<std::string> console;
  std::optional<std::string> level;
  std::optional<std::string> authentication;
  std::optional<std::string> admin_token_file;
  std::optional<std::string> certificate_key;
  std::optional<std::string> replica_name;
  std::optional<std::string> replica_url;
  std::optional<std::string> socket;
  std::vector<std::string> host_names;
  bool log_requests = false;
  app.add_option("-c,--config", file, "TOML file with any of the keys of config.toml.example");
  app.add_option("-l,--listen", listen, "Address and port, like 127.0.0.1:7470; port 0 uses any free one");
  app.add_option("--host-name", host_names,
                 "By which callers may address the service too, beside host_names of the file");
  app.add_option("--socket", socket,
                 "Unix socket to listen at too, where root and the service's own user need no token; none by default");
  app.add_option("-s,--store", store,
                 "Where all state is kept: an SQLite file, or postgresql://user@host/database [var/railweave.db]");
  app.add_option("--console", console,
                 "Folder of the built console [console or ../share/railweave/console beside the program]");
  app.add_option("--authentication", authentication,
                 "tokens, or none: whoever reaches the address may do everything [tokens]");
  app.add_option("--admin-token-file", admin_token_file,
                 "Where an administrator's token is written when no valid one exists [beside the store]");
  app.add_option("--certificate-key", certificate_key,
                 "Ed25519 private key in PEM, mode 0600, that signs certificates of guarantees [not signed]");
  app.add_option("--replica-name", replica_name, "Among several processes on a PostgreSQL store [host name and port]");
  app.add_option("--replica-url", replica_url, "Where the others reach this one [where it listens]");
  app.add_option("--log-level", level,
                 "trace, debug, info, warn, error or off; by subject too: info,live=debug [info]");
  app.add_flag("--log-requests", log_requests, "Log every request");
  app.add_flag("--check-config", line.check, "Say what is wrong with the configuration, or that nothing is, and end");
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error, std::cout, std::cerr);
      line.exit = true;
      return line;
    }
    return fail(ErrorKind::invalid, "config.badArguments", error.what(), "command line", "see railweaved --help");
  }
  if (file) {
    if (auto read = read_file(*file, line.config); !read) return std::unexpected(read.error());
  }
  if (store) line.config.store = *store;
  auto& names = line.config.access.host_names;
  names.insert(names.end(), host_names.begin(), host_names.end());
  if (console) line.config.console = *console;
  if (replica_name) line.config.replica.name = *replica_name;
  if (replica_url) line.config.replica.url = *replica_url;
  if (socket) line.config.socket = *socket;
  if (admin_token_file) line.config.access.admin_token_file = *admin_token_file;
  if (certificate_key) line.config.guarantees.certificate_key = *certificate_key;
  if (authentication) {
    if (auto set = set_authentication(line.config, *authentication, "--authentication"); !set) {
      return std::unexpected(set.error());
    }
  }
  if (level) line.config.log.level = *level;
  line.config.log.requests = line.config.log.requests || log_requests;
  if (listen) {
    if (auto set = set_listen(line.config, *listen); !set) return std::unexpected(set.error());
  }
  if (auto checked = check_together(line.config); !checked) return std::unexpected(checked.error());
  return line;
}

}  // namespace railweave
