#include "api/http/message/target.h"

#include "api/http/message/headers.h"
#include "fabric/base/text/percent.h"
#include "fabric/base/text/utf8.h"

namespace railweave::api {
namespace {

constexpr std::size_t kMaxSegments = 32;
constexpr std::size_t kMaxParams = 128;

std::unexpected<Error> bad(std::string message, std::string hint = {}) {
  return fail(ErrorKind::malformed, "http.badTarget", std::move(message), "", std::move(hint));
}

Result<std::string> decode(std::string_view text, bool plus_is_space, std::string_view what) {
  std::optional<std::string> decoded = percent_decode(text, plus_is_space);
  if (!decoded) {
    return bad("a % in the " + std::string(what) + " is not followed by two hexadecimal digits",
               "write a plain % as %25");
  }
  if (has_ascii_control(*decoded)) return bad("the " + std::string(what) + " contains a control character");
  if (!is_utf8(*decoded)) return bad("the " + std::string(what) + " is not UTF-8");
  return std::move(*decoded);
}

Result<void> parse_path(std::string_view path, Target& target) {
  target.path = std::string(path);
  path.remove_prefix(1);
  if (path.empty()) return {};
  for (;;) {
    const std::size_t slash = path.find('/');
    Result<std::string> segment = decode(path.substr(0, slash), false, "path");
    if (!segment) return std::unexpected(segment.error());
    if (*segment == "." || *segment == "..") return bad("the path contains a \".\" or \"..\" segment");
    if (target.segments.size() == kMaxSegments) return bad("the path has too many segments");
    target.segments.push_back(std::move(*segment));
    if (slash == std::string_view::npos) return {};
    path.remove_prefix(slash + 1);
  }
}

Result<void> parse_query(std::string_view query, QueryParams& params) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    Result<std::string> name = decode(pair.substr(0, equals), true, "query");
    if (!name) return std::unexpected(name.error());
    Result<std::string> value =
        decode(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true, "query");
    if (!value) return std::unexpected(value.error());
    if (params.size() == kMaxParams) return bad("the query has too many parameters");
    params.add(std::move(*name), std::move(*value));
  }
  return {};
}

}  // namespace

const std::string* QueryParams::find(std::string_view name) const {
  for (const Param& param : params_) {
    if (param.first == name) return &param.second;
  }
  return nullptr;
}

std::vector<std::string_view> QueryParams::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const Param& param : params_) {
    if (param.first == name) values.emplace_back(param.second);
  }
  return values;
}

Result<Target> parse_target(std::string_view text) {
  Target target;
  if (text == "*") {
    target.asterisk = true;
    target.path = "*";
    return target;
  }
  if (text.find('#') != std::string_view::npos)
    return bad("the target contains a fragment (#)", "write a plain # as %23");
  if (!text.starts_with('/')) {
    const std::size_t scheme_end = text.find("://");
    if (scheme_end == std::string_view::npos || !equal_ignoring_case(text.substr(0, scheme_end), "http")) {
      return bad("the target is neither a path nor an http:// address");
    }
    text.remove_prefix(scheme_end + 3);
    const std::size_t authority_end = text.find_first_of("/?");
    if (authority_end == 0) return bad("the target's address has no host");
    text = authority_end == std::string_view::npos ? std::string_view("/") : text.substr(authority_end);
  }
  const std::size_t question = text.find('?');
  const std::string_view path = question == 0 ? std::string_view("/") : text.substr(0, question);
  if (Result<void> parsed = parse_path(path, target); !parsed) return std::unexpected(parsed.error());
  if (question != std::string_view::npos) {
    if (Result<void> parsed = parse_query(text.substr(question + 1), target.query); !parsed) {
      return std::unexpected(parsed.error());
    }
  }
  return target;
}

}  // namespace railweave::api
