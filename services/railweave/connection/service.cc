#include "services/railweave/connection/service.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "services/railweave/connection/rest_words.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

constexpr std::uint64_t kPageItems = 1000;
constexpr int kMaxRestarts = 5;
constexpr int kMaxReconnects = 10;  // in a row

api::ClientOptions client_options(std::chrono::milliseconds timeout, const Login& login) {
  api::ClientOptions options;
  options.ca_file = login.ca_file;
  options.certificate_file = login.certificate_file;
  options.key_file = login.key_file;
  if (!login.token.empty()) options.headers.add("Authorization", "Bearer " + login.token);
  options.user_agent = "railweave/" RAILWEAVE_VERSION;
  options.timeout = timeout;
  options.connect_timeout = std::min(timeout, options.connect_timeout);
  return options;
}

constexpr const char* kNotRailweaved = "is it railweaved that listens there?";

[[noreturn]] void fail_answer(std::string message) {
  throw CommandFailure({ErrorKind::malformed, "client.notJson", std::move(message), {}, kNotRailweaved});
}

// What only asks is asked with POST too, where the question is long.
bool is_change(const api::ClientRequest& request) {
  static constexpr std::array<std::string_view, 5> kQuestions{"dryRun=true", "/query", "/diff", "/v1/lab", "/discover"};
  return request.method != api::Method::get &&
         std::ranges::none_of(kQuestions, [&](auto word) { return request.target.contains(word); });
}

// The pointers of errors[], joined.
std::string places(const Json& problem) {
  std::string text;
  for (const auto& part : list(problem, "errors")) {
    const std::string pointer = text_of(part, "pointer");
    if (pointer == "-" || pointer == "/") continue;
    text += (text.empty() ? "" : ", ") + in_options(pointer);
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
    error.message = fmt::format("{} answered with status {} and no explanation", server, status);
    error.hint = kNotRailweaved;
    return error;
  }
  error.code = text_of(*parsed, "code");
  error.message = in_commands(text_of(*parsed, "detail"));
  error.location = places(*parsed);
  if (field(*parsed, "hint").is_string()) error.hint = in_commands(text_of(*parsed, "hint"));
  return error;
}

api::ClientRequest json_request(api::Method method, const Target& target, const Json& body) {
  api::ClientRequest request;
  request.method = method;
  request.target = target.text();
  request.content_type = "application/json";
  request.body = compact_json(body);
  return request;
}

Service::Service(api::Url url, std::chrono::milliseconds timeout, const Login& login)
    : client_(std::move(url), client_options(timeout, login)) {}

void Service::note(const api::ClientRequest& request, const api::ClientResponse& response) const {
  if (!answered_) return;
  answered_(fmt::format("{} {}: {}, request {}", to_string(request.method), request.target, response.status,
                        response.headers.value("X-Request-Id")));
}

Json Service::parse(const api::ClientResponse& response, const std::string& target) const {
  if (response.body.empty()) return nullptr;
  auto parsed = parse_json(response.body);
  if (!parsed || !parsed->is_object()) {
    const std::string path = target.substr(0, target.find('?'));
    fail_answer(url() + " answered " + path + " with something other than a JSON object");
  }
  return std::move(*parsed);
}

Answer Service::send(api::ClientRequest request, const std::function<bool(int)>& accept) {
  request.headers.add("Accept", "application/json, application/problem+json");
  auto response = client_.request(request);
  if (!response) throw CommandFailure(std::move(response.error()));
  note(request, *response);
  if (!response->ok() && !(accept && accept(response->status))) {
    throw CommandFailure(problem_error(response->status, response->body, url()));
  }
  changed_ = changed_ || (is_change(request) && response->ok());
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
  if (!body.is_object()) fail_answer(url() + " answered " + target.text() + " with an empty body");
  return body;
}

Resource Service::read(const Target& target) {
  api::ClientRequest request;
  request.target = target.text();
  Answer answer = send(std::move(request), [](int status) { return status == 404; });
  if (answer.status == 404) return {};
  return {std::move(answer.body), std::string(answer.headers.value("ETag"))};
}

Json Service::put(const Target& target, const Json& body, const std::string& etag) {
  api::ClientRequest request = json_request(api::Method::put, target, body);
  if (!etag.empty()) request.headers.add("If-Match", etag);
  return send(std::move(request)).body;
}

Json Service::post(const Target& target, const Json& body) {
  return send(json_request(api::Method::post, target, body)).body;
}

void Service::remove(const Target& target) {
  api::ClientRequest request;
  request.method = api::Method::del;
  request.target = target.text();
  send(std::move(request));
}

std::string Service::get_text(const Target& target) {
  api::ClientRequest request;
  request.target = target.text();
  auto response = client_.request(request);
  if (!response) throw CommandFailure(std::move(response.error()));
  note(request, *response);
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
      if (failure.error().code != "query.cursorExpired" || ++restarts > kMaxRestarts) throw;
      cursor.clear();
      taken = 0;
      restart();
      continue;
    }
    if (!field(page, "items").is_array()) fail_answer(url() + " answered " + target.text() + " without a list");
    for (const auto& item : list(page, "items")) {
      if (limit != 0 && taken == limit) break;
      on_item(item);
      ++taken;
    }
    const Json& next = field(page, "nextCursor");
    const bool more = next.is_string() && next != cursor;  // a server that repeats a cursor would never end
    if (!more || (limit != 0 && taken >= limit)) {
      ListEnd end{next, count_of(page, "seq"), {}};
      page.erase("items");
      end.beside = std::move(page);
      return end;
    }
    cursor = next.get<std::string>();
  }
}

void Service::follow(const Target& target, const std::string& after, const std::function<bool(const Json&)>& on_event,
                     const std::function<void(const std::string&)>& on_trouble) {
  api::StreamOptions options;
  options.last_event_id = after;
  options.resume = [&](const api::StreamBreak& broken) {
    if (broken.failures > kMaxReconnects) return false;
    on_trouble(broken.reason.empty() ? "the stream ended" : broken.reason);
    return true;
  };
  const auto response = client_.stream(
      target.text(),
      [&](const api::ServerEvent& event) {
        const auto parsed = parse_json(event.data);
        if (parsed && parsed->is_object()) return on_event(*parsed);
        on_trouble("an event that is not JSON was skipped");
        return true;
      },
      options);
  if (!response) throw CommandFailure(response.error());
  if (!response->ok()) throw CommandFailure(problem_error(response->status, response->body, url()));
}

}  // namespace railweave::cli
