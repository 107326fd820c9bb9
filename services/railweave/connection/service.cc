#include "services/railweave/connection/service.h"

#include <algorithm>
#include <utility>

#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

constexpr std::uint64_t kPageItems = 1000;
constexpr int kMostRestarts = 5;
constexpr int kMostReconnects = 10;  // in a row

api::ClientOptions client_options(std::chrono::milliseconds timeout) {
  api::ClientOptions options;
  options.user_agent = "railweave/" RAILWEAVE_VERSION;
  options.timeout = timeout;
  options.connect_timeout = std::min(timeout, options.connect_timeout);
  return options;
}

// Of errors[]: the pointers, unless the detail has them already.
std::string places(const Json& problem) {
  std::string text;
  for (const auto& part : list(problem, "errors")) {
    const std::string pointer = text_of(part, "pointer");
    if (pointer == "-" || pointer == "/") continue;
    text += (text.empty() ? "" : ", ") + pointer;
  }
  return text;
}

}  // namespace

Error problem_error(int status, const std::string& body, const std::string& server) {
  Error error;
  error.kind = kind_of_status(status);
  const auto parsed = parse_json(body);
  if (!parsed || !field(*parsed, "detail").is_string()) {
    error.code = status >= 500 ? "client.noProblem" : "service.noProblem";
    error.message = server + " answered with status " + std::to_string(status) + " and no explanation";
    error.hint = "is it railweaved that listens there?";
    return error;
  }
  error.code = text_of(*parsed, "code");
  error.message = text_of(*parsed, "detail");
  error.location = places(*parsed);
  if (field(*parsed, "hint").is_string()) error.hint = text_of(*parsed, "hint");
  return error;
}

Service::Service(api::Url url, std::chrono::milliseconds timeout) : client_(std::move(url), client_options(timeout)) {}

Json Service::parse(const api::ClientResponse& response, const std::string& target) const {
  if (response.body.empty()) return nullptr;
  auto parsed = parse_json(response.body);
  if (!parsed || !parsed->is_object()) {
    const std::string path = target.substr(0, target.find('?'));
    throw CommandFailure({ErrorKind::malformed,
                          "client.notJson",
                          url() + " answered " + path + " with something that is not its JSON",
                          {},
                          "is it railweaved that listens there?"});
  }
  return std::move(*parsed);
}

Answer Service::send(api::ClientRequest request, const std::function<bool(int)>& accept) {
  request.headers.add("Accept", "application/json, application/problem+json");
  auto response = client_.request(request);
  if (!response) throw CommandFailure(std::move(response.error()));
  if (!response->ok() && !(accept && accept(response->status))) {
    throw CommandFailure(problem_error(response->status, response->body, url()));
  }
  Answer answer;
  answer.status = response->status;
  answer.body = parse(*response, request.target);
  answer.headers = std::move(response->headers);
  return answer;
}

Json Service::get(const Target& target) {
  api::ClientRequest request;
  request.target = target.text();
  Json body = send(std::move(request)).body;
  if (!body.is_object()) {
    throw CommandFailure({ErrorKind::malformed,
                          "client.notJson",
                          url() + " answered " + target.text() + " with nothing",
                          {},
                          "is it railweaved that listens there?"});
  }
  return body;
}

std::string Service::get_text(const Target& target) {
  auto response = client_.get(target.text());
  if (!response) throw CommandFailure(std::move(response.error()));
  if (!response->ok()) throw CommandFailure(problem_error(response->status, response->body, url()));
  return std::move(response->body);
}

Service::ListEnd Service::each_item(const Target& target, std::uint64_t limit,
                                    const std::function<void(const Json&)>& on_item,
                                    const std::function<void()>& restart) {
  std::string cursor;
  std::uint64_t taken = 0;
  int restarts = 0;
  for (;;) {
    const std::uint64_t page_items = limit == 0 ? kPageItems : std::min(kPageItems, limit - taken);
    Target page_target = target;
    page_target.query("limit", std::to_string(page_items)).filter("cursor", cursor);
    Json page;
    try {
      page = get(page_target);
    } catch (const CommandFailure& failure) {
      if (failure.error().code != "query.cursorExpired" || ++restarts > kMostRestarts) throw;
      cursor.clear();
      taken = 0;
      restart();
      continue;
    }
    if (!field(page, "items").is_array()) {
      throw CommandFailure({ErrorKind::malformed,
                            "client.notJson",
                            url() + " answered " + target.text() + " without a list",
                            {},
                            "is it railweaved that listens there?"});
    }
    for (const auto& item : list(page, "items")) {
      if (limit != 0 && taken == limit) break;
      on_item(item);
      ++taken;
    }
    const Json& next = field(page, "nextCursor");
    const bool more = next.is_string() && next != cursor;  // a server that gives the same cursor again would never end
    if (!more || (limit != 0 && taken >= limit)) return {next, count_of(page, "seq")};
    cursor = next.get<std::string>();
  }
}

void Service::follow(const Target& target, const std::string& after, const std::function<bool(const Json&)>& on_event,
                     const std::function<void(const std::string&)>& on_trouble) {
  api::StreamOptions options;
  options.last_event_id = after;
  options.resume = [&](const api::StreamBreak& broken) {
    if (broken.failures > kMostReconnects) return false;
    on_trouble(broken.reason.empty() ? "the stream ended" : broken.reason);
    return true;
  };
  const auto response = client_.stream(
      target.text(),
      [&](const api::ServerEvent& event) {
        const auto parsed = parse_json(event.data);
        if (parsed && parsed->is_object()) return on_event(*parsed);
        on_trouble("an event that is not JSON was left out");
        return true;
      },
      options);
  if (!response) throw CommandFailure(response.error());
  if (!response->ok()) throw CommandFailure(problem_error(response->status, response->body, url()));
}

}  // namespace railweave::cli
