// Which handler answers which path. Filled before the server starts, constant after; then safe from any thread.
//
// Patterns: "/v1/jobs/{id}/ranks". {id} takes exactly one segment, decoded, so an id with a "/" in it has to be sent as
// %2F. {id...} takes one segment or more, joined by "/", so both /v1/links/A%2F1--B%2F2/drain and the unencoded
// /v1/links/A/1--B/2/drain match "/v1/links/{id...}/drain"; at most one of it in a pattern, anywhere. No parameter
// takes an empty segment: "/v1/jobs/" is not found rather than taken for "/v1/jobs".
//
// When several patterns match, the most specific one is chosen: from the left, literal before {id} before {id...}; of
// two that begin alike, the longer. The path alone decides; a method that its pattern does not have is a 405.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/dispatch/responder.h"
#include "api/http/message/method.h"
#include "api/http/message/request.h"

namespace railweave::api {

// May answer at once or keep the Responder (and the Request with it) and answer later. Must not block unless the route
// is marked `compute`. An exception becomes a 500.
using Handler = std::function<void(const Request&, Responder)>;

struct RouteOptions {
  bool anonymous = false;  // answered without authentication
  bool compute = false;    // run on the bounded worker pool: may take its time; 429 when the pool is full
  bool heavy = false;      // of `compute`: may take seconds, so it never holds every thread of the pool
  std::function<bool(const Request&)> heavy_when = {};  // of `compute`: which requests are heavy too
  std::size_t body_limit_bytes = 0;        // of the body as sent, and once inflated; 0: the server's default
  std::vector<std::string> consumes = {};  // media types a body may have, else 415; empty: any
};

struct Route {
  Handler handler;
  RouteOptions options;
};

class Router {
 public:
  // One pattern and its methods.
  struct Resource {
    struct Segment {
      enum class Kind { literal, param, rest };
      Kind kind = Kind::literal;
      std::string text;  // the literal, or the parameter's name
    };
    std::string pattern;
    std::vector<Segment> segments;
    std::array<std::optional<Route>, kMethods> routes;

    [[nodiscard]] const Route* route(Method method) const {
      const auto& found = routes[static_cast<std::size_t>(method)];
      return found ? &*found : nullptr;
    }
    // For the Allow header: the methods, and HEAD with GET, and OPTIONS.
    [[nodiscard]] std::string allow() const;
  };

  struct Match {
    const Resource* resource = nullptr;
    PathParams params;
  };

  // A malformed pattern, one that matches exactly what another does, or a method added twice is a bug of ours: it
  // aborts.
  void add(Method method, std::string_view pattern, Handler handler, RouteOptions options = {});
  void get(std::string_view pattern, Handler handler, RouteOptions options = {}) {
    add(Method::get, pattern, std::move(handler), std::move(options));
  }
  void post(std::string_view pattern, Handler handler, RouteOptions options = {}) {
    add(Method::post, pattern, std::move(handler), std::move(options));
  }
  void put(std::string_view pattern, Handler handler, RouteOptions options = {}) {
    add(Method::put, pattern, std::move(handler), std::move(options));
  }
  void patch(std::string_view pattern, Handler handler, RouteOptions options = {}) {
    add(Method::patch, pattern, std::move(handler), std::move(options));
  }
  void del(std::string_view pattern, Handler handler, RouteOptions options = {}) {
    add(Method::del, pattern, std::move(handler), std::move(options));
  }

  // `segments` decoded, as in Target. The result refers into this router.
  [[nodiscard]] std::optional<Match> match(std::span<const std::string> segments) const;

  // Most specific first.
  [[nodiscard]] const std::vector<std::unique_ptr<Resource>>& resources() const { return resources_; }

 private:
  std::vector<std::unique_ptr<Resource>> resources_;
};

}  // namespace railweave::api
