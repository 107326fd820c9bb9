// The configuration of railweaved: defaults, then a TOML file, then the command line. config.toml.example lists every
// key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/log/log.h"
#include "services/control/live/connection/accept_replacements.h"
#include "services/control/live/connection/ingress_filtering.h"
#include "services/rest/access/authentication.h"
#include "services/rest/access/client_address.h"
#include "services/rest/access/sign_in.h"

namespace railweave {

// A live subnet: [[subnet]] in the file.
struct SubnetConfig {
  std::string name;                    // as the accepted topology calls it
  std::string opensm_socket;           // socket that OpenSM's plugin connects to; "": none
  std::string opensm_files;            // folder of the files written for OpenSM; "": none are written
  std::string adapter;                 // "mlx5_0"; "": the first with a link
  std::uint64_t port = 0;              // 0: the first with a link
  std::uint64_t sweep_seconds = 10;    // between light sweeps, which catch lost traps
  std::uint64_t look_seconds = 60;     // between looks at a switch as it is, which catch what is wrongly believed
  std::uint64_t counter_seconds = 10;  // between readings of a port's counters
  std::uint64_t window = 32;           // management datagrams in flight, at most 64
  bool damping = true;                 // links that flap are held out of use where nothing needs them
  std::uint64_t damping_flaps = 4, damping_window_seconds = 600, damping_hold_seconds = 600;
  std::uint64_t damping_percent = 25;         // of a switch's links, and of the paths between two leaves, at most
  bool rebalance = true;                      // routes are spread again over the links that are left, in direct mode
  std::uint64_t rebalance_seconds = 10;       // once nothing has changed for so long
  bool follow_jobs = false;                   // routes are chosen for the jobs that run, in direct mode
  bool compare_engines = false;               // what other engines would make is shown, as often,
  bool take_better_engine = false;            // and a better one is taken,
  std::uint64_t engine_hold_seconds = 3'600;  // not more often
  bool several_lanes = false;  // in direct mode, where routes need them; senders need their paths' service levels
  bool administration = true;  // in direct mode clients are answered (SA)
  std::string administration_key_file;  // of the key of requesters that see all; "": there are none
  bool use_swapped_cables = true;       // cables that were exchanged are used as they are; else only reported
  control::AcceptReplacements accept_replacements = control::AcceptReplacements::never;
  control::IngressFiltering ingress_filter = control::IngressFiltering::isolation;
  std::string key_file;                 // secrets of management keys, which ports get in direct mode; "": they get none
  std::string opensm_key_file;          // with OpenSM's m_key, shown to ports in opensm mode; "": it has none
  std::uint64_t key_lease_seconds = 0;  // how long ports that are shown wrong keys only hide theirs; 0: for ever
};

// Live subnets, and what is kept of their counters (fabric/health/counter_archive.h).
struct LiveConfig {
  std::vector<SubnetConfig> subnets;
  // Of all planes; "auto": the engine that suits the shape, on as many lanes as it needs.
  std::string routing_engine = "auto";
  std::uint64_t routing_lanes = 8;                // at most, by an engine that is named
  std::uint64_t counter_history_seconds = 60;     // the shortest slot
  std::uint64_t counter_history_megabytes = 512;  // at most, of all subnets together; 0: none is kept
};

// How callers are told apart.
enum class Authentication : std::uint8_t {
  tokens,  // each request shows a token
  none,    // whoever reaches the address may do everything
};

// Who may call, and how.
struct AccessConfig {
  Authentication authentication = Authentication::tokens;
  std::filesystem::path admin_token_file;  // where an administrator's token is written when none is valid; empty:
                                           // beside the store, or var/railweave.admin-token
  std::string tls_certificate, tls_key;    // PEM files, both or neither; read again when they change
  std::string tls_client_ca;               // authorities of clients' certificates; "": none is asked for
  std::vector<api::CertificateAccount> certificates;  // [[access.certificate]]
  std::optional<api::Oidc::Options> oidc;             // [access.oidc]
  std::optional<api::OidcClient> console_client;      // of it: how the console signs its users in
  std::uint64_t requests_per_second = 1'000;          // of a token; further ones are answered 429. 0: no such limit
  std::uint64_t requests_at_once = 4'000;             // of a token, after a pause
  std::vector<api::Network> trusted_proxies;          // believed in what they say of where a client comes from
  std::vector<std::string> host_names;                // by which callers may address the service, beside loopback names
};

// One of several processes on a PostgreSQL store: [replica] in the file.
struct ReplicaConfig {
  std::string name;     // differs between them; empty: host name and listen_port, or process
  std::string url;      // where the others reach this one; empty: where it listens
  std::string ca_file;  // certificates that are trusted for https of the others, in PEM; empty: the system's
  std::string certificate_file, key_file;  // by which the leader knows this one, in PEM; empty: not at all
  std::vector<std::string> peers;          // names in such certificates: of all replicas
  std::uint64_t lease_seconds = 3;         // how long a leader that is gone keeps the others waiting
};

// Events sent to users' addresses: [webhooks] in the file.
struct WebhookConfig {
  bool loopback = false;    // to this machine too, also over http
  bool link_local = false;  // to link-local addresses too, those of metadata services among them
  std::string ca_file;      // certificates that are trusted for https of receivers, in PEM; empty: the system's
  std::uint64_t timeout_seconds = 5;       // of one delivery
  std::uint64_t retry_seconds = 1;         // before the second attempt; doubled with every failure, up to 5 minutes
  std::uint64_t give_up_seconds = 86'400;  // of failing; then it is disabled, with an alarm
  std::uint64_t report_seconds = 30;       // least time between events about progress alone
};

// Guarantees of bandwidth.
struct GuaranteeConfig {
  bool reroute = true;                    // set costs of links automatically for those at risk; else only on request
  std::filesystem::path certificate_key;  // Ed25519 private key in PEM that signs certificates; empty: not signed
};

// How long a store keeps what it does not need any more.
struct KeptConfig {
  std::uint64_t events = 1'000'000;  // older ones are removed from the store behind snapshots; 0: all are kept
  bool reports = true;               // rows of reporting tables whose events were removed; else they go with them
};

// What the log tells.
struct LogConfig {
  std::string level = "info";  // as levels, which follow from it
  log::Levels levels;
  bool requests = false;                  // all of them at info
  std::uint64_t slow_request_ms = 1'000;  // longer ones are a warning
};

struct Config {
  std::string listen_address = "127.0.0.1";  // others than loopback with TLS and tokens only
  std::uint16_t listen_port = 7470;          // 0: any free port, which is printed
  std::string socket;                        // a Unix socket to listen at too; "": none
  std::string store = "var/railweave.db";    // a file, or postgresql://user@host/database
  AccessConfig access;
  ReplicaConfig replica;
  WebhookConfig webhooks;
  LogConfig log;
  std::uint64_t queue_limit = 1024;      // changes that wait; further ones are answered 429
  std::uint64_t snapshot_every = 5'000;  // events
  GuaranteeConfig guarantees;
  KeptConfig kept;
  std::uint64_t max_waiting_jobs = 10'000;  // of a tenant; further ones are answered 429
  std::uint64_t max_connections = 1024;
  std::uint64_t max_connections_per_address = 0;  // 0: no such limit
  std::uint64_t max_streams = 256;                // event streams
  std::uint64_t idle_seconds = 75;                // between requests of a connection
  std::uint64_t request_seconds = 30;             // for a request's body, and more by its size
  std::uint64_t answer_seconds = 120;             // for the answer to be made
  std::uint64_t write_seconds = 30;               // without progress in sending it
  std::uint64_t stop_seconds = 10;                // for what runs when the service is told to stop
  std::uint64_t compute_threads = 2;              // for what-ifs, imports and large answers
  std::filesystem::path console;  // folder of the built console; empty: the one beside the program, if there is one
  LiveConfig live;
};

struct CommandLine {
  Config config;
  bool exit = false;   // --help or --version was printed
  bool check = false;  // only whether the configuration is one to start with
};

// arguments: those of main() without the program's name. Errors name the file, line and key.
Result<CommandLine> read_config(const std::vector<std::string>& arguments);

}  // namespace railweave
