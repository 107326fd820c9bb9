#include "services/railweaved/service.h"

#include <chrono>
#include <csignal>
#include <utility>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include "services/railweaved/administrator.h"
#include "services/railweaved/descriptors.h"
#include "services/railweaved/live_subnet.h"
#include "services/railweaved/store.h"
#include "services/rest/access/authentication.h"
#include "services/rest/access/refusal_log.h"
#include "services/rest/console/console_routes.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/handlers/worker_placers.h"

namespace railweave {
namespace {

std::int64_t now_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

api::ServerOptions http_options(const Config& config) {
  api::ServerOptions http;
  http.address = config.listen_address;
  http.port = config.listen_port;
  http.tls_certificate = config.access.tls_certificate;
  http.tls_key = config.access.tls_key;
  http.allowed_hosts = config.access.host_names;
  if (config.listen_address != "0.0.0.0" && config.listen_address != "::") {
    http.allowed_hosts.push_back(config.listen_address);
  }
  http.max_connections = connections_within_descriptors(config.max_connections);
  if (http.max_connections < config.max_connections) {
    spdlog::warn("at most {} connections, not {}: the process may not open more files (ulimit -n)",
                 http.max_connections, config.max_connections);
  }
  http.max_connections_per_address = config.max_connections_per_address;
  http.max_streams = config.max_streams;
  http.idle_timeout = std::chrono::seconds(config.idle_seconds);
  http.body_timeout = std::chrono::seconds(config.request_seconds);
  http.answer_timeout = std::chrono::seconds(config.answer_seconds);
  http.write_timeout = std::chrono::seconds(config.write_seconds);
  http.compute_threads = config.compute_threads;
  http.error_log = [](std::string_view text) { spdlog::warn("http: {}", text); };
  const auto refusals = std::make_shared<api::RefusalLog>([](const std::string& text) { spdlog::warn("{}", text); });
  http.access_log = [refusals, all = config.log_requests](const api::AccessRecord& record) {
    refusals->note(record, api::RateLimit::Clock::now());
    if (!all) return;
    spdlog::info("{} {} {} {} {} B {} us", record.remote_address, to_string(record.method), record.path, record.status,
                 record.sent_bytes, record.duration_us);
  };
  return http;
}

// The configured folder, else the installed one beside the program.
std::filesystem::path console_folder(const Config& config) {
  if (!config.console.empty()) return config.console;
  std::error_code error;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const auto built = beside / "console";
  return std::filesystem::exists(built, error) ? built : beside.parent_path() / "share" / "railweave" / "console";
}

}  // namespace

Service::Service(Config config) : config_(std::move(config)) {}

Service::~Service() {
  (void)stop();
  server_.reset();
  journal_.reset();
}

Result<void> Service::start() {
  // 1. The store.
  auto journal = open_store(config_, [this] {
    is_deposed_ = true;
    ::kill(::getpid(), SIGTERM);
  });
  if (!journal) return std::unexpected(journal.error());
  journal_ = std::move(*journal);

  // 2. The control loop, on the state in the store.
  control::ControlOptions control_options;
  control_options.queue_limit = config_.queue_limit;
  control_options.snapshot_every = config_.snapshot_every;
  control_options.max_waiting_of_tenant = config_.max_waiting_jobs;
  control_options.reroute_for_guarantees = config_.reroute_for_guarantees;
  control_options.now_us = now_us;
  control_options.warn = [](const std::string& text) { spdlog::warn("{}", text); };
  control_options.on_published = [this](const std::vector<db::Record>& records) { feed_.publish(records); };
  loop_ = std::make_unique<control::ControlLoop>(*journal_, codec_, control_options);
  const auto started = std::chrono::steady_clock::now();
  if (auto recovered = loop_->recover(); !recovered) return recovered;
  const auto state = loop_->state();
  feed_.start_at(state->seq);
  spdlog::info("store {}: {} events, {} jobs, {} hosts, {} GPUs, read in {:.0f} ms", store_name(config_.store),
               state->seq, state->jobs.size(), state->topology().hosts().size(), state->topology().gpus().size(),
               std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count());
  loop_->start();
  catch_up_ = std::make_unique<control::EventCatchUp>(*journal_, feed_);

  // 3. Who may call.
  if (auto known = ensure_administrator(*loop_, config_); !known) return known;

  // 4. The live subnets.
  std::vector<control::LiveSubnets::Subnet> subnets;
  for (const auto& subnet : config_.subnets) subnets.push_back(live_subnet(subnet));
  live_ = std::make_unique<control::LiveSubnets>(*loop_, std::move(subnets),
                                                 [](const std::string& text) { spdlog::warn("{}", text); });
  if (auto live = live_->start(); !live) return live;

  // 5. The API.
  operations_ = std::make_unique<api::Operations>(now_us);
  plane_ = std::make_unique<api::ControlPlane>(
      api::ControlPlane{*loop_, feed_, *catch_up_, *journal_, *live_, live_->routes()});
  api::ServerOptions http = http_options(config_);
  http.prepare_compute_thread = [this] {
    const auto now = loop_->state();
    if (!now->accepted.digest.empty()) (void)api::worker_placers(*plane_).at(*now);
  };
  if (config_.access.authentication == Authentication::tokens) {
    const auto limit =
        std::make_shared<api::RateLimit>(config_.access.requests_per_second, config_.access.requests_at_once);
    http.authenticate = [this, limit](const api::Headers& headers) {
      return api::authenticate(headers, *loop_->state()->access_tokens, now_us(), *limit);
    };
  }
  server_ = std::make_unique<api::Server>(http);
  api::RouteTable routes(server_->router(), *plane_);
  api::add_fabric_routes(routes, *operations_);
  api::add_routing_routes(routes);
  api::add_job_routes(routes);
  api::add_queue_routes(routes);
  api::add_tenant_routes(routes);
  api::add_token_routes(routes);
  api::add_contract_routes(routes);
  api::add_guarantee_routes(routes);
  api::add_event_routes(routes);
  api::add_audit_routes(routes);
  api::add_operation_routes(routes, *operations_);
  api::add_service_routes(routes, [this] { return server_->metrics(); });
  auto console = api::ConsoleFiles::read(console_folder(config_));
  if (!console && !config_.console.empty()) return std::unexpected(console.error());
  spdlog::info("console: {}",
               console ? std::to_string(console->size()) + " files, at /console" : console.error().text());
  api::add_console_routes(server_->router(), std::move(console));
  if (auto listening = server_->start(); !listening) return listening;
  spdlog::info("listening at {}", server_->url());
  return {};
}

bool Service::stop() {
  const auto time = std::chrono::milliseconds(config_.stop_seconds * 1000 / 2);
  const bool ended = !server_ || server_->stop_within(time, time);
  if (live_) live_->stop();
  if (catch_up_) catch_up_->stop();
  if (loop_) loop_->stop();
  return ended;
}

}  // namespace railweave
