#include "services/rest/replication/forwarder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/http/message/problem.h"
#include "fabric/base/lower_case.h"
#include "fabric/base/text/percent.h"
#include "services/rest/access/client_address.h"
#include "services/rest/access/on_behalf.h"

namespace railweave::api {
namespace {

constexpr const char* kForwardedBy = "Railweave-Forwarded-By";

// What a caller says to the service; the rest is between it and this replica.
constexpr std::array kSentOn = {"Authorization", "Idempotency-Key", "If-Match", "If-None-Match", "Accept"};
// What this replica's server says itself.
constexpr std::array kOwn = {"connection",
                             "content-length",
                             "content-type",
                             "content-encoding",
                             "date",
                             "keep-alive",
                             "server",
                             "transfer-encoding",
                             "vary",
                             "x-request-id",
                             "strict-transport-security",
                             "x-content-type-options"};
// The leader closes connections that are not used; one that it closes just now would lose a request.
constexpr std::chrono::seconds kKept{20};

std::string target_of(const Request& request) {
  std::string target = request.target.path;
  char before = '?';
  for (const auto& [name, value] : request.target.query) {
    target += before + percent_encode(name) + "=" + percent_encode(value);
    before = '&';
  }
  return target;
}

Problem no_leader(const std::string& detail, std::string hint) {
  Problem problem;
  problem.status = 503;
  problem.code = "service.noLeader";
  problem.detail = detail;
  problem.hint = std::move(hint);
  problem.retry_after_s = 1;
  return problem;
}

// One that hangs, or was cut off, may answer for as long as nothing ends the connection.
Problem leader_gone(const std::string& url) {
  Problem problem = no_leader("the leader, " + url + ", was succeeded before it answered: the outcome is unknown",
                              "repeat the request with the same Idempotency-Key");
  problem.code = "service.leaderGone";
  return problem;
}

Error cannot_vouch(const std::string& url, bool no_certificate) {
  return {ErrorKind::conflict,
          "service.notLeader",
          "another process leads, and the caller is known to this one only, by its socket or certificate",
          {},
          "send it to " + url + ", or show a token; replicas speak for such callers where " +
              (no_certificate ? "they have certificates: set certificate_file, key_file and peers of [replica]"
                              : "the leader is reached over https: set url of [replica] there")};
}

// Without an answer: whether the request can have reached the leader.
bool was_sent(const Error& error) {
  return error.code == "client.timeout" || error.code == "client.broken" || error.code == "client.badAnswer" ||
         error.code == "client.tooLarge";
}

ClientRequest as_sent(const Request& request, const std::string& by) {
  ClientRequest sent;
  sent.method = request.method;
  sent.target = target_of(request);
  for (const char* name : kSentOn) {
    if (const auto* value = request.headers.find(name)) sent.headers.add(name, *value);
  }
  sent.headers.set("X-Request-Id", request.id);
  sent.headers.set(kForwardedBy, by);
  if (!request.remote_address.empty()) sent.headers.set(kForwardedFor, request.remote_address);
  if (request.caller != nullptr) {
    if (auto caller = on_behalf(*request.caller); !caller.empty()) sent.headers.set(kOnBehalf, std::move(caller));
  }
  sent.content_type = request.headers.value("Content-Type");
  sent.body = request.body;
  return sent;
}

}  // namespace

Forwarder::Forwarder(ForwarderOptions options) : options_(std::move(options)), pool_(options_.max_waiting) {
  pool_.start(options_.threads);
}

Forwarder::~Forwarder() { stop(); }

void Forwarder::stop() { pool_.stop(); }

Forwarder::Connection Forwarder::take(const std::string& url) {
  const std::lock_guard lock(mutex_);
  if (url_ != url) {
    url_ = url;
    idle_.clear();
  }
  std::erase_if(idle_, [now = std::chrono::steady_clock::now()](const Idle& idle) { return now - idle.since > kKept; });
  if (idle_.empty()) return nullptr;
  Connection connection = std::move(idle_.back().connection);
  idle_.pop_back();
  return connection;
}

void Forwarder::give_back(const std::string& url, Connection connection) {
  const std::lock_guard lock(mutex_);
  if (url_ == url) idle_.push_back({std::move(connection), std::chrono::steady_clock::now()});
}

void Forwarder::forward(const std::string& url, const Responder& respond) {
  const Request& request = respond.request();
  if (const auto* by = request.headers.find(kForwardedBy)) {
    return void(respond(no_leader("this replica follows, and so does " + *by + ", which sent the request here",
                                  "try again: a leader is being found")));
  }
  if (url.empty()) return void(respond(no_leader("no replica leads", "try again: a leader is being found")));
  const bool vouches = request.caller != nullptr && !on_behalf(*request.caller).empty();
  if (vouches && (options_.certificate_file.empty() || !url.starts_with("https://"))) {
    return void(respond(cannot_vouch(url, options_.certificate_file.empty())));
  }
  const bool queued =
      pool_.try_run(request.remote_address, Work::quick, [this, url, respond] { answer(url, respond); });
  if (queued) return;
  Problem busy = no_leader("too many requests wait for the leader", "try again in a second");
  busy.status = 429;
  busy.code = "service.busy";
  respond(std::move(busy));
}

void Forwarder::answer(const std::string& url, const Responder& respond) {
  const Request& request = respond.request();
  auto connection = take(url);
  if (connection == nullptr) {
    auto parsed = parse_url(url);
    if (!parsed) return void(respond(no_leader("the leader's address is " + url, "set replica_url where it runs")));
    ClientOptions options;
    options.service = "the leader";
    options.user_agent = options_.name;
    options.ca_file = options_.ca_file;
    options.certificate_file = options_.certificate_file;
    options.key_file = options_.key_file;
    options.timeout = options_.timeout;
    if (options_.leads) options.give_up = [this, url] { return !options_.leads(url); };
    connection = std::make_unique<Client>(std::move(*parsed), std::move(options));
  }
  auto answered = connection->request(as_sent(request, options_.name));
  if (!answered) {
    const bool sent = was_sent(answered.error());
    if (sent && options_.leads && !options_.leads(url)) return void(respond(leader_gone(url)));
    return void(respond(no_leader(
        sent ? "the leader, " + url + ", does not answer: the outcome is unknown" : answered.error().message,
        sent ? "repeat the request with the same Idempotency-Key" : "try again: another leader is being found")));
  }
  give_back(url, std::move(connection));
  Response response;
  response.status = answered->status;
  response.content_type = answered->headers.value("Content-Type");
  for (const auto& [name, value] : answered->headers) {
    if (std::ranges::find(kOwn, lower_case(name)) == kOwn.end()) response.headers.set(name, value);
  }
  response.body = std::move(answered->body);
  respond(std::move(response));
}

}  // namespace railweave::api
