// The routes of the contract as data: for each its method and path, the query parameters it takes, its limits, what its
// If-Match is compared with, and the handler that answers it. Handlers return a result; the table alone turns errors
// and rejections into problem documents.
//
// Filled before the server starts, constant afterwards. Handlers run on the server's threads, several at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/http/dispatch/router.h"
#include "services/rest/access/caller.h"
#include "services/rest/control_plane.h"

namespace railweave::api {

// Of a route that answers a list page by page.
struct PageLimits {
  std::uint64_t initial = 100;  // items of a page when the caller does not say
  std::uint64_t max = 10'000;
  std::vector<std::string_view> fields =
      {};  // what `fields` may select of each item, as the contract says; empty: it is not taken
};

// The present version of the resource that a route changes.
struct PresentVersion {
  std::string resource;  // as messages name it: "job-000001"
  std::string etag;      // "": the resource does not exist
  std::uint64_t version = 0;
};
// With the ETag "<id>.<version>"; version 0: the resource does not exist.
PresentVersion present_version(const std::string& id, std::uint64_t version);

// Which of several replicas answers.
enum class AnsweredBy : std::uint8_t {
  method,  // GET: any, as of what it has read; other methods: the leader
  any,     // it changes nothing
  leader,  // what is not in the store: live subnets, operations, the last cycle of the queue
};

struct RouteRules {
  Access access = kAdministrators;           // who may call it: the contract lists them as x-roles
  std::vector<std::string_view> query = {};  // parameters besides those of `page`; others are refused by name
  std::string_view repeatable = {};          // the one of them that may be given several times
  std::optional<PageLimits> page = {};       // a list: takes `limit`, `cursor` and, unless excluded, `fields`
  bool any_query = false;                    // ignores query parameters: health checks append their own
  bool any_body = false;                     // bodies of any media type, told apart by their content
  AnsweredBy by = AnsweredBy::method;
  RouteOptions http = {};  // worker pool, limit and media types of the body
  // Set: the route honours If-Match and If-None-Match. Handlers compare with if_version(), after they have found the
  // resource.
  PresentVersion (*present)(const control::ClusterState&, const Request&) = nullptr;
};

// One request to a route. Refers to the request: a handler that answers later keeps the Responder, which keeps it
// alive.
struct Call {
  const ControlPlane& plane;
  const Request& request;
  const RouteRules& rules;
};

// The version that If-Match holds the change to, 0 where If-None-Match holds it to there being none; nullopt: the request
// has neither, or nothing follows from it. Error: If-Match names another version, or If-None-Match this one.
Result<std::optional<std::uint64_t>> if_version(const Call& call, const control::ClusterState& state);

// A command for the control loop, and the answer once it is durable. `on_accepted` runs on the control thread: it must
// be quick.
struct Submission {
  decltype(control::Command::body) command;
  std::function<Response(const control::Accepted&)> on_accepted;
};

// The kinds of handlers.
using Answer = std::function<Result<Response>(const Call&)>;
using Submit = std::function<Result<Submission>(const Call&)>;
// Answers through the Responder, possibly later: long work, and answers that other threads make. An error is answered
// by the table; the handler must not have answered then.
using Asynchronous = std::function<Result<void>(const Call&, const Responder&)>;
// An answer that takes long is made in steps of a millisecond or so, between which others have their turns. A step gives the
// answer, or nullopt: there is another step. The Call that they are made for lives until then.
using Steps = std::move_only_function<Result<std::optional<Response>>()>;
using InSteps = std::function<Result<Steps>(const Call&)>;
using RouteHandler = std::variant<Answer, Submit, Asynchronous, InSteps>;

class RouteTable {
 public:
  // Both must outlive the server.
  RouteTable(Router& router, const ControlPlane& plane) : router_(router), plane_(plane) {}

  void get(std::string_view path, RouteRules rules, RouteHandler handler);
  void put(std::string_view path, RouteRules rules, RouteHandler handler);
  void post(std::string_view path, RouteRules rules, RouteHandler handler);
  void patch(std::string_view path, RouteRules rules, RouteHandler handler);
  void del(std::string_view path, RouteRules rules, RouteHandler handler);

  [[nodiscard]] const ControlPlane& plane() const { return plane_; }

 private:
  void add(Method method, std::string_view path, RouteRules rules, RouteHandler handler);

  Router& router_;
  const ControlPlane& plane_;
};

}  // namespace railweave::api
