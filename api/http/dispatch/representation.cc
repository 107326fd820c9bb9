#include "api/http/dispatch/representation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "api/http/message/etag.h"
#include "api/http/message/gzip.h"
#include "api/http/message/problem.h"

namespace railweave::api {
namespace {

bool depends_on_encoding(const ServerOptions& options, const Response& response) {
  return response.body_view().size() >= options.gzip_min_bytes && is_compressible(response.content_type) &&
         !response.headers.contains("Content-Encoding");
}

void add_vary(Response& response) {
  for (const std::string_view name : response.headers.list("Vary")) {
    if (name == "*" || equal_ignoring_case(name, "Accept-Encoding")) return;
  }
  response.headers.add("Vary", "Accept-Encoding");
}

}  // namespace

void settle(const Request& request, const ServerOptions& options, Response& response) {
  const bool sendable = std::all_of(response.headers.begin(), response.headers.end(), is_sendable) &&
                        is_sendable({"Content-Type", response.content_type}) && response.status >= 200 &&
                        response.status <= 599;
  if (!sendable) {
    if (options.error_log) options.error_log("an answer on " + request.route + " had a header that cannot be sent");
    response = problem_response(500, "internal.badHeader", "the answer had a header that cannot be sent");
  }
  for (const std::string_view name : {"Connection", "Content-Length", "Date", "Server", "Transfer-Encoding"}) {
    response.headers.remove(name);  // the server's own
  }
  if (request.method == Method::get && response.status == 200 && !response.stream) {
    const std::string tag = matched_if_none_match(request.headers, response.headers.value("ETag"));
    if (!tag.empty()) {
      response.status = 304;
      response.headers.set("ETag", tag);
      response.content_type.clear();
      response.body.clear();
      response.shared_body.reset();
      add_vary(response);
    }
  }
  if (depends_on_encoding(options, response)) add_vary(response);
}

bool wants_gzip(const Request& request, const ServerOptions& options, const Response& response) {
  return depends_on_encoding(options, response) && response.status != 204 && response.status != 206 &&
         accepts_gzip(request.headers);
}

void mark_gzip(Response& response) {
  response.headers.set("Content-Encoding", "gzip");
  if (const std::string* tag = response.headers.find("ETag")) response.headers.set("ETag", gzip_etag(*tag));
}

void apply_gzip(const ServerOptions& options, Response& response) {
  std::string compressed = gzip(response.body_view(), options.gzip_level);
  if (compressed.size() >= response.body_view().size()) return;
  response.body = std::move(compressed);
  response.shared_body.reset();
  mark_gzip(response);
}

}  // namespace railweave::api
