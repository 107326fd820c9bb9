#include "services/railweaved/service.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "services/railweaved/administrator.h"
#include "services/railweaved/certificate_key.h"
#include "services/railweaved/configured_folders.h"
#include "services/railweaved/descriptors.h"
#include "services/railweaved/engine_setting.h"
#include "services/railweaved/live_subnet.h"
#include "services/railweaved/store.h"
#include "services/rest/access/authentication.h"
#include "services/rest/access/request_log.h"
#include "services/rest/access/slot_owner.h"
#include "services/rest/access/store_silence.h"
#include "services/rest/access/token_text.h"
#include "services/rest/certificates/certificate_routes.h"
#include "services/rest/console/console_routes.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/worker_placers.h"

namespace railweave {
namespace {

std::int64_t now_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

api::ServerOptions http_options(const Config& config, const log::Log& log) {
  api::ServerOptions http;
  http.address = config.listen_address;
  http.port = config.listen_port;
  http.tls_certificate = config.access.tls_certificate;
  http.tls_key = config.access.tls_key;
  http.tls_client_ca = config.access.tls_client_ca;
  http.socket = config.socket;
  http.allowed_hosts = config.access.host_names;
  if (config.listen_address != "0.0.0.0" && config.listen_address != "::") {
    http.allowed_hosts.push_back(config.listen_address);
  }
  http.max_connections = connections_within_descriptors(config.max_connections);
  if (http.max_connections < config.max_connections) {
    log.warn("at most {} connections, not {}: the process may not open more files (ulimit -n)", http.max_connections,
             config.max_connections);
  }
  http.max_connections_per_address = config.max_connections_per_address;
  http.max_streams = config.max_streams;
  http.idle_timeout = std::chrono::seconds(config.idle_seconds);
  http.body_timeout = std::chrono::seconds(config.request_seconds);
  http.answer_timeout = std::chrono::seconds(config.answer_seconds);
  http.write_timeout = std::chrono::seconds(config.write_seconds);
  http.compute_threads = config.compute_threads;
  http.error_log = [log = log.of(log::Subject::rest)](std::string_view text) { log.warn("http: {}", text); };
  const auto requests = std::make_shared<api::RequestLog>(
      log, api::RequestLog::Options{config.log.requests, std::chrono::milliseconds(config.log.slow_request_ms)});
  http.access_log = [requests](const api::AccessRecord& record) {
    requests->note(record, api::RateLimit::Clock::now());
  };
  return http;
}

api::KnownCallers known_callers(const Config& config, const log::Log& log) {
  api::KnownCallers known{static_cast<std::uint32_t>(::geteuid()), config.access.certificates, config.replica.peers,
                          nullptr};
  if (!config.access.oidc) return known;
  api::Oidc::Options options = *config.access.oidc;
  options.log = [log = log.of(log::Subject::rest)](const std::string& text) { log.info("{}", text); };
  known.oidc = std::make_shared<api::Oidc>(std::move(options));
  return known;
}

webhooks::AddressRules address_rules(const WebhookConfig& config) { return {config.loopback, config.link_local}; }

webhooks::DeliveryOptions delivery_options(const WebhookConfig& config, const log::Log& log) {
  using std::chrono::seconds;
  webhooks::DeliveryOptions options;
  options.addresses = address_rules(config);
  options.ca_file = config.ca_file;
  options.timeout = seconds(config.timeout_seconds);
  options.first_retry = seconds(config.retry_seconds);
  options.give_up = seconds(config.give_up_seconds);
  options.report = seconds(config.report_seconds);
  options.log = log.of(log::Subject::webhooks);
  return options;
}

// Each subnet's part.
fabric::health::ArchiveOptions archive_options(const Config& config) {
  fabric::health::ArchiveOptions options;
  const auto slot_us = static_cast<std::int64_t>(config.live.counter_history_seconds) * 1'000'000;
  options.slot_us = {slot_us, 15 * slot_us};
  options.max_bytes =
      (config.live.counter_history_megabytes << 20U) / std::max<std::size_t>(config.live.subnets.size(), 1);
  return options;
}

// The configured folder, else the installed one beside the program.
std::filesystem::path console_folder(const Config& config) {
  if (!config.console.empty()) return config.console;
  std::error_code error;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const auto built = beside / "console";
  return std::filesystem::exists(built, error) ? built : beside.parent_path() / "share" / "railweave" / "console";
}

std::chrono::milliseconds lease_of(const Config& config) { return std::chrono::seconds(config.replica.lease_seconds); }

// What distinguishes processes on one store.
std::string replica_name(const Config& config) {
  if (!config.replica.name.empty()) return config.replica.name;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'?'};
  const auto number = config.listen_port != 0 ? config.listen_port : static_cast<int>(::getpid());
  return fmt::format("{}:{}", host.data(), number);
}

}  // namespace

Service::Service(Config config, const log::Log& log)
    : config_(std::move(config)), log_(log), replica_name_(replica_name(config_)) {}

// What asks the store, the subnets' administration too, is destroyed before it: the members' order.
Service::~Service() { (void)stop(); }

Result<void> Service::start() {
  if (auto opened = open(); !opened) return opened;
  const bool follows = loop_->phase() == control::Phase::following;
  if (follows) follow();
  if (auto prepared = prepare_server(); !prepared) return prepared;
  if (!follows) {
    loop_->start();
    if (auto leads = lead(); !leads) return leads;
  }
  if (auto listening = server_->start(); !listening) return listening;
  log_.info("listening at {}", server_->url());
  if (follows) {
    replica_->start();
  } else if (store_.shared != nullptr) {
    announce();
  }
  return {};
}

// The store, and the state in it.
Result<void> Service::open() {
  if (auto there = check_folders(config_); !there) return there;
  auto store = open_store(config_, replica_name_, log_.of(log::Subject::store), [this] {
    restart("another railweaved has taken over the store; this one writes and programs nothing more");
  });
  if (!store) return std::unexpected(store.error());
  store_ = std::move(*store);
  if (store_.shared != nullptr) {
    if (const auto leads = store_.shared->try_lead(); !leads) return std::unexpected(leads.error());
  }
  control::ControlOptions control_options;
  control_options.queue_limit = config_.queue_limit;
  control_options.snapshot_every = config_.snapshot_every;
  control_options.max_waiting_of_tenant = config_.max_waiting_jobs;
  control_options.reroute_for_guarantees = config_.guarantees.reroute;
  control_options.log = log_.of(log::Subject::control);
  control_options.try_writing = store_.try_writing;
  control_options.on_published = [this](const std::vector<db::Record>& records) { feed_.publish(records); };
  loop_ = std::make_unique<control::ControlLoop>(*store_.journal, codec_, control_options);
  set_engine(config_.live, *loop_->routes());
  const auto started = std::chrono::steady_clock::now();
  if (auto recovered = loop_->recover(); !recovered) return recovered;
  const auto state = loop_->state();
  feed_.start_at(state->seq);
  log_.info("store {}: {} events, {} jobs, {} hosts, {} GPUs, read in {:.0f} ms", store_name(config_.store), state->seq,
            state->jobs.size(), state->topology().hosts().size(), state->topology().gpus().size(),
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count());
  catch_up_ = std::make_unique<control::EventCatchUp>(*store_.journal, feed_);
  std::vector<control::LiveSubnets::Subnet> subnets;
  for (const auto& subnet : config_.live.subnets) {
    subnets.push_back(live_subnet(subnet, archive_options(config_), [this] { return store_.journal->leads(); }));
    if (is_engine_named(config_.live)) subnets.back().options.take_better_engine = false;
  }
  live_ = std::make_unique<control::LiveSubnets>(*loop_, std::move(subnets), log_);
  webhooks_ =
      std::make_unique<webhooks::Deliveries>(*loop_, *store_.journal, feed_, delivery_options(config_.webhooks, log_));
  control::ScrubOptions scrub;
  scrub.log = log_.of(log::Subject::store);
  scrub_ = std::make_unique<control::JournalScrub>(*loop_, *store_.journal, std::move(scrub));
  return {};
}

// What only a leader does, once the loop has started.
Result<void> Service::lead() {
  if (auto known = ensure_administrator(*loop_, config_, log_); !known) return known;
  webhooks_->start();
  scrub_->start();
  return live_->start();
}

void Service::restart(const std::string& why) {
  if (is_to_restart_.exchange(true)) return;
  log_.error("stopping: {}", why);
  ::kill(::getpid(), SIGTERM);
}

void Service::announce() {
  log_.info("{} leads, term {}", replica_name_, store_.journal->term());
  const std::string url = config_.replica.url.empty() ? server_->url() : config_.replica.url;
  (void)loop_->submit({"railweaved", control::BeginTerm{replica_name_, url}}, [log = log_](const auto& result) {
    if (!result) log.warn("that this one leads was not recorded: {}", result.error().error.text());
  });
}

void Service::follow() {
  const std::string leader = loop_->state()->leader.name;
  log_.info("{} follows{}", replica_name_, leader.empty() ? "" : " " + leader);
  control::ReplicaOptions options;
  options.on_lead = [this] {
    loop_->start();
    announce();
    return lead();
  };
  options.on_failed = [this](const Error& error) { restart(error.text()); };
  options.log = log_.of(log::Subject::store);
  options.poll = std::min(options.poll, lease_of(config_) / 4);
  replica_ = std::make_unique<control::Replica>(*store_.shared, *loop_, std::move(options));
  forwarder_ = std::make_unique<api::Forwarder>(api::ForwarderOptions{
      .name = replica_name_,
      .ca_file = config_.replica.ca_file,
      .certificate_file = config_.replica.certificate_file,
      .key_file = config_.replica.key_file,
      .leads = [this](const std::string& url) { return replica_->follows() && loop_->state()->leader.url == url; }});
}

// What a leader has acknowledged is known here within the lease, or this process knows that it may not be.
std::optional<std::chrono::milliseconds> Service::out_of_touch() const {
  if (store_.shared == nullptr) return std::nullopt;
  const bool follows = replica_ != nullptr && replica_->follows();
  const auto silent = follows ? replica_->staleness() : store_.shared->silence();
  const bool in_touch = follows ? silent < lease_of(config_) : store_.shared->leads();
  return in_touch ? std::nullopt : std::optional(silent);
}

Result<void> Service::prepare_server() {
  operations_ = std::make_unique<api::Operations>(now_us);
  plane_ = std::make_unique<api::ControlPlane>(
      api::ControlPlane{*loop_, feed_, *catch_up_, *store_.journal, *live_, live_->routes()});
  plane_->replica = replica_.get();
  plane_->forwarder = forwarder_.get();
  plane_->replica_name = replica_name_;
  auto secret = api::new_token();
  if (!secret) return std::unexpected(secret.error());
  plane_->exchange_secret = std::move(secret->text);
  plane_->out_of_touch = [this] { return out_of_touch(); };
  api::ServerOptions http = http_options(config_, log_);
  http.prepare_compute_thread = [this] {
    const auto now = loop_->state();
    if (!now->accepted.digest.empty()) (void)api::worker_placers(*plane_).at(*now);
  };
  if (config_.access.authentication == Authentication::tokens) {
    const auto limit =
        std::make_shared<api::RateLimit>(config_.access.requests_per_second, config_.access.requests_at_once);
    http.authenticate = [this, limit, known = known_callers(config_, log_)](const api::Headers& headers,
                                                                            const api::Peer& peer) {
      return api::confirmed(api::authenticate(headers, peer, *loop_->state()->access_tokens, known, now_us(), *limit),
                            out_of_touch());
    };
    http.slot_owner = api::slot_owner;
    http.client_address = [trusted = api::TrustedSenders{config_.access.trusted_proxies, config_.replica.peers}](
                              const api::Peer& peer, const api::Headers& headers) {
      return api::client_address(trusted, peer, headers);
    };
  }
  server_ = std::make_unique<api::Server>(http);
  api::RouteTable routes(server_->router(), *plane_);
  api::add_fabric_routes(routes, *operations_);
  api::add_counter_history_routes(routes);
  api::add_drain_routes(routes);
  api::add_live_routes(routes, *operations_);
  api::add_alarm_routes(routes);
  api::add_routing_routes(routes);
  api::add_job_routes(routes);
  api::add_queue_routes(routes);
  api::add_tenant_routes(routes);
  api::add_token_routes(routes);
  api::add_contract_routes(routes);
  api::add_guarantee_routes(routes);
  api::add_agent_routes(routes);
  auto certificate_key = read_certificate_key(config_.guarantees.certificate_key);
  if (!certificate_key) return std::unexpected(certificate_key.error());
  api::add_certificate_routes(routes, *certificate_key);
  api::add_event_routes(routes);
  api::add_webhook_routes(routes, address_rules(config_.webhooks));
  api::add_audit_routes(routes);
  api::add_operation_routes(routes, *operations_);
  api::add_service_routes(routes, [this] { return server_->metrics(); });
  auto console = api::ConsoleFiles::read(console_folder(config_));
  if (!console && !config_.console.empty()) return std::unexpected(console.error());
  log_.info("console: {}", console ? fmt::format("{} files, at /console", console->size()) : console.error().text());
  const auto& client = config_.access.console_client;
  api::add_sign_in_routes(routes, {config_.access.authentication == Authentication::tokens, client});
  api::add_console_routes(server_->router(), std::move(console), client ? api::origin_of_issuer(client->issuer) : "");
  return {};
}

bool Service::stop() {
  const auto time = std::chrono::milliseconds(config_.stop_seconds * 1000 / 2);
  const bool ended = !server_ || server_->stop_within(time, time);
  if (replica_) replica_->stop();
  if (forwarder_) forwarder_->stop();
  if (scrub_) scrub_->stop();
  if (webhooks_) webhooks_->stop();
  if (live_) live_->stop();
  if (catch_up_) catch_up_->stop();
  if (loop_) loop_->stop();
  return ended;
}

}  // namespace railweave
