// railweaved's API on live subnets in memory (small_live_fabric.h), for contract_test.py. Takes railweaved's arguments.
// Beyond the contract: POST /test/find/{nodes} says what the next discovery finds, POST /test/exchange exchanges two
// cables, POST /test/happen makes a live fabric's events happen.
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "api/http/server.h"
#include "db/sqlite/sqlite_journal.h"
#include "services/control/codec/journal_codec.h"
#include "services/control/live/cabling/cabling_follower.h"
#include "services/railweaved/config.h"
#include "services/rest/handlers/routes.h"
#include "tests/contract/live_service/small_live_fabric.h"

namespace railweave {
namespace {

using control::Alarm;
using control::AlarmSeverity;

std::int64_t now_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

Alarm alarm(std::string kind, std::string subject_kind, std::string subject, AlarmSeverity severity) {
  return {.kind = std::move(kind),
          .subject_kind = std::move(subject_kind),
          .subject_id = std::move(subject),
          .subnet = "compute",
          .severity = severity,
          .text = "something is wrong; see to it",
          .jobs = {"job-000001"},
          .raised_us = now_us()};
}

// Everything that those who watch a fabric report: the link named by the body goes down, comes back and flaps, alarms
// come and go, drains advance, tables are written.
void happen(control::ControlLoop& loop, const std::string& link) {
  const auto tell = [&](decltype(control::Command::body) body) {
    (void)loop.submit({"fabric", std::move(body)}, [](const control::CommandResult&) {});
  };
  const auto links = [&](fabric::LinkState state, bool damped) {
    tell(control::ReportLinks{"compute", {{link, state, damped}}});
  };
  links(fabric::LinkState::down, false);
  links(fabric::LinkState::up, false);
  links(fabric::LinkState::down, true);
  const auto& topology = loop.state()->topology();
  control::ReportLinks several{"compute", {{link, fabric::LinkState::up, false}}};
  for (const auto other : topology.links()) {
    if (!topology.joins_switches(other) || topology.link_text(other) == link) continue;
    several.links.push_back({topology.link_text(other), fabric::LinkState::down, false});
    break;
  }
  const std::string other = several.links.back().link;
  tell(std::move(several));
  tell(control::ReportLinks{"compute", {{other, fabric::LinkState::degraded, false}}});
  tell(control::ReportAlarms{{alarm("link.down", "link", link, AlarmSeverity::warning),
                              alarm("link.symbolErrors", "link", link, AlarmSeverity::warning),
                              alarm("switch.silent", "switch", "leaf-2", AlarmSeverity::critical)},
                             {}});
  tell(control::ReportAlarms{{}, {"link.symbolErrors:" + link}});
  control::ReportDrains drains;
  const auto state = loop.state();
  for (const auto& [target, drain] : *state->drains) {
    const bool first = drain.state == control::DrainState::requested;
    drains.drains.push_back({target, first ? control::DrainState::rerouting : control::DrainState::drained});
  }
  tell(std::move(drains));
  tell(control::ReportPortLimits{{"compute", {.data_lanes = 8, .arbitration_entries = 8, .mtu_bytes = 4096}}});
  tell(control::ReportQos{{"compute", control::QosProgrammed::Where::ports, 6, 2, 12, 40}});
  tell(control::ReportQos{{"compute", control::QosProgrammed::Where::opensmFiles, 6, 2, 12, 3}});
  tell(control::ReportProgramming{{"compute", "2 links down", 12, 3, 7, 1, 250, 4000}});
}

// The first named switch link and the second have exchanged their far ends, or have them back.
void exchange(control::ControlLoop& loop, const std::string& links) {
  const auto state = loop.state();
  const auto& t = state->topology();
  const auto blank = links.find(' ');
  const auto one = t.find_link(links.substr(0, blank));
  const auto other = t.find_link(links.substr(blank + 1));
  if (!one || !other) return;
  auto command = control::fabric_as_cabled(
      state->accepted, {{one, t.a(one), t.b(other), t.spec(one)}, {other, t.a(other), t.b(one), t.spec(other)}},
      "compute");
  if (command) (void)loop.submit({"fabric", std::move(*command)}, [](const control::CommandResult&) {});
}

int serve(const Config& config) {
  auto journal = db::open_sqlite_journal(config.store);
  if (!journal) return 1;
  const api::JournalCodec codec;
  control::EventFeed feed;
  control::ControlOptions options;
  options.queue_limit = config.queue_limit;
  options.now_us = now_us;
  options.on_published = [&](const std::vector<db::Record>& records) { feed.publish(records); };
  control::ControlLoop loop(**journal, codec, options);
  if (!loop.recover()) return 1;
  feed.start_at(loop.state()->seq);
  loop.start();
  control::EventCatchUp catch_up(**journal, feed);
  api::Operations operations(now_us);
  contract::SmallLiveFabric live(loop);
  const api::ControlPlane plane{loop, feed, catch_up, **journal, live.fabric};
  api::ServerOptions http;
  http.address = config.listen_address;
  http.port = config.listen_port;
  http.compute_threads = config.compute_threads;
  api::Server server(http);
  auto& router = server.router();
  api::RouteTable routes(router, plane);
  api::add_fabric_routes(routes, operations);
  api::add_counter_history_routes(routes);
  api::add_drain_routes(routes);
  api::add_live_routes(routes, operations);
  api::add_alarm_routes(routes);
  api::add_routing_routes(routes);
  api::add_job_routes(routes);
  api::add_queue_routes(routes);
  api::add_tenant_routes(routes);
  api::add_token_routes(routes);
  api::add_event_routes(routes);
  api::add_operation_routes(routes, operations);
  api::add_service_routes(routes, [&] { return server.metrics(); });
  router.post("/test/find/{nodes}", [&](const api::Request& request, const api::Responder& respond) {
    const std::string& text = request.param("nodes");
    unsigned nodes = 0;
    std::from_chars(text.data(), text.data() + text.size(), nodes);
    live.find_nodes(nodes);
    respond(api::Response::empty());
  });
  router.post("/test/exchange", [&](const api::Request& request, const api::Responder& respond) {
    exchange(loop, request.body);
    respond(api::Response::empty());
  });
  router.post("/test/happen", [&](const api::Request& request, const api::Responder& respond) {
    happen(loop, request.body);
    respond(api::Response::empty());
  });
  if (!server.start()) return 1;
  std::printf("listens at %s\n", server.url().c_str());
  std::fflush(stdout);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  int signal = 0;
  sigwait(&signals, &signal);
  server.stop(std::chrono::seconds(5));
  live.fabric.finish();
  catch_up.stop();
  loop.stop();
  return 0;
}

}  // namespace
}  // namespace railweave

int main(int argc, char** argv) {
  const auto line = railweave::read_config(std::vector<std::string>(argv + 1, argv + argc));
  if (!line || line->exit) return 2;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return railweave::serve(line->config);
}
