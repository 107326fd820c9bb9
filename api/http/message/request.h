// One request as handlers see it: decoded, bounded, already matched to its route. Immutable once handed out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http/message/headers.h"
#include "api/http/message/method.h"
#include "api/http/message/target.h"
#include "fabric/base/check.h"

namespace railweave::api {

class Responder;
struct Caller;  // who sends a request: ServerOptions::authenticate says

// Values of a pattern's {names}, decoded.
using PathParams = std::vector<std::pair<std::string, std::string>>;

struct Request {
  Method method = Method::other;  // get for a HEAD as well: the server drops the body
  Target target;
  PathParams path_params;
  std::string route;  // the pattern that matched: "/v1/jobs/{id}"
  Headers headers;
  std::string body;  // after Content-Encoding and Transfer-Encoding
  std::string remote_address;
  std::uint16_t remote_port = 0;
  std::shared_ptr<const Caller> caller;  // null: the service asks for no token
  // On the worker pool: runs the next step of a long answer in a later turn, so that others are not behind all of it. False:
  // the pool has stopped. Unset elsewhere.
  std::function<bool(const Responder&, std::move_only_function<void()>)> go_on;
  std::stop_token stop;  // the client has left, or its time is over: work for it alone may end
  std::string id;        // the caller's X-Request-Id when it is short and plain, else made here; echoed in the answer

  // The value of {name} in the route's pattern, which must have it.
  [[nodiscard]] const std::string& param(std::string_view name) const {
    for (const auto& [key, value] : path_params) {
      if (key == name) return value;
    }
    RAILWEAVE_CHECK(false, "a handler asks only for parameters of its own pattern");
    std::unreachable();
  }
  // The first query parameter of that name; nullptr when there is none.
  [[nodiscard]] const std::string* query(std::string_view name) const { return target.query.find(name); }
};

}  // namespace railweave::api
