#include "services/rest/console/console_routes.h"

#include <memory>
#include <utility>

#include <fmt/core.h>

#include "api/http/message/problem.h"

namespace railweave::api {
namespace {

// Scripts and styles of this server alone, connections to it and to where its users sign in; no inline script or style, no
// frame around it, no form that leaves it.
std::string policy_with(const std::string& provider) {
  return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
         "connect-src 'self'" +
         (provider.empty() ? "" : " " + provider) +
         "; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

struct Console {
  ConsoleFiles files;
  std::string policy;
};

Response protected_page(Response response, const std::string& policy) {
  response.headers.set("Content-Security-Policy", policy);
  response.headers.set("X-Content-Type-Options", "nosniff");
  response.headers.set("X-Frame-Options", "DENY");
  response.headers.set("Referrer-Policy", "no-referrer");
  response.headers.set("Cross-Origin-Opener-Policy", "same-origin");
  return response;
}

Response file_response(const ConsoleFile& file, const std::string& policy) {
  Response response;
  response.content_type = file.content_type;
  response.shared_body = file.body;
  response.headers.set("ETag", file.etag);
  response.headers.set("Cache-Control", file.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  return protected_page(std::move(response), policy);
}

// An encoded "/" stays inside its segment, so ".." can still be hidden in one: "..%2f..".
bool climbs(std::string_view path) {
  for (;;) {
    const std::size_t end = path.find_first_of("/\\");
    if (path.substr(0, end) == "..") return true;
    if (end == std::string_view::npos) return false;
    path.remove_prefix(end + 1);
  }
}

Response page_or_file(const Console& console, std::string_view path) {
  if (climbs(path)) {
    return problem_response(400, "http.badTarget", "the path contains a \"..\" segment");
  }
  if (const ConsoleFile* file = console.files.find(path)) return file_response(*file, console.policy);
  if (path.starts_with("assets/")) {
    return problem_response(404, "console.noSuchFile", fmt::format("the console has no file '{}'", path),
                            "reload the page: the console was built again since it was opened");
  }
  return file_response(console.files.index(), console.policy);
}

}  // namespace

void add_console_routes(Router& router, Result<ConsoleFiles> read, const std::string& provider) {
  const RouteOptions anonymous{.anonymous = true};  // the page asks for the token
  if (!read) {
    // The folder is a path of this machine: it is in the log, not in the answer.
    Error error = read.error();
    error.message = "the console is not installed: " + error.message;
    error.location.clear();
    const auto refuse = [error = std::move(error)](const Request&, const Responder& respond) { respond(error); };
    router.get("/console", refuse, anonymous);
    router.get("/console/{path...}", refuse, anonymous);
    return;
  }
  const auto console = std::make_shared<const Console>(Console{std::move(*read), policy_with(provider)});
  router.get(
      "/",
      [](const Request&, const Responder& respond) {
        respond(Response::empty(307).with("Location", "/console").with("Cache-Control", "no-store"));
      },
      anonymous);
  // With a slash at the end too, as the address of a page that is reloaded may have one.
  for (const char* address : {"/console", "/console/"}) {
    router.get(
        address,
        [console](const Request&, const Responder& respond) {
          respond(file_response(console->files.index(), console->policy));
        },
        anonymous);
  }
  for (const char* address : {"/console/{path...}", "/console/{path...}/"}) {
    router.get(
        address,
        [console](const Request& request, const Responder& respond) {
          respond(page_or_file(*console, request.param("path")));
        },
        anonymous);
  }
}

}  // namespace railweave::api
