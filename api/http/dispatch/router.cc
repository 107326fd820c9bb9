#include "api/http/dispatch/router.h"

#include <algorithm>
#include <utility>

#include "fabric/base/check.h"

namespace railweave::api {
namespace {

using Resource = Router::Resource;
using Kind = Resource::Segment::Kind;

std::vector<Resource::Segment> parse_pattern(std::string_view pattern) {
  RAILWEAVE_CHECK(pattern.starts_with('/'), "a route pattern begins with /");
  std::vector<Resource::Segment> segments;
  int rests = 0;
  for (std::string_view left = pattern.substr(1); !left.empty();) {
    const std::size_t slash = left.find('/');
    std::string_view text = left.substr(0, slash);
    left = slash == std::string_view::npos ? std::string_view() : left.substr(slash + 1);
    Resource::Segment segment;
    if (text.starts_with('{')) {
      RAILWEAVE_CHECK(text.ends_with('}'), "a parameter is a whole segment");
      text = text.substr(1, text.size() - 2);
      segment.kind = Kind::param;
      if (text.ends_with("...")) {
        text.remove_suffix(3);
        segment.kind = Kind::rest;
        ++rests;
      }
    }
    RAILWEAVE_CHECK(!text.empty() && text.find_first_of("{}") == std::string_view::npos, "segments have a name");
    segment.text = std::string(text);
    segments.push_back(std::move(segment));
  }
  if (pattern.size() > 1 && pattern.ends_with('/')) segments.emplace_back();  // the empty segment behind it
  RAILWEAVE_CHECK(rests <= 1, "a pattern has at most one {name...}");
  return segments;
}

// Negative when `a` is more specific; 0 when both match exactly the same paths.
int compare(const Resource& a, const Resource& b) {
  const std::size_t common = std::min(a.segments.size(), b.segments.size());
  for (std::size_t i = 0; i < common; ++i) {
    const Resource::Segment& left = a.segments[i];
    const Resource::Segment& right = b.segments[i];
    if (left.kind != right.kind) return left.kind < right.kind ? -1 : 1;
    if (left.kind != Kind::literal) continue;
    if (const int order = left.text.compare(right.text); order != 0) return order;
  }
  if (a.segments.size() == b.segments.size()) return 0;
  return a.segments.size() > b.segments.size() ? -1 : 1;
}

bool matches(const Resource& resource, std::span<const std::string> path) {
  if (path.size() < resource.segments.size()) return false;
  const std::size_t extra = path.size() - resource.segments.size();  // what {name...} takes beyond one segment
  std::size_t at = 0;
  bool has_rest = false;
  for (const Resource::Segment& segment : resource.segments) {
    switch (segment.kind) {
      case Kind::literal:
        if (path[at++] != segment.text) return false;
        break;
      case Kind::param:
        if (path[at++].empty()) return false;
        break;
      case Kind::rest:
        has_rest = true;
        for (std::size_t end = at + extra + 1; at < end; ++at) {
          if (path[at].empty()) return false;
        }
        break;
    }
  }
  return has_rest || extra == 0;
}

PathParams capture(const Resource& resource, std::span<const std::string> path) {
  PathParams params;
  const std::size_t extra = path.size() - resource.segments.size();
  std::size_t at = 0;
  for (const Resource::Segment& segment : resource.segments) {
    std::string value = path[at++];
    if (segment.kind == Kind::rest) {
      for (std::size_t i = 0; i < extra; ++i) value += '/' + path[at++];
    }
    if (segment.kind != Kind::literal) params.emplace_back(segment.text, std::move(value));
  }
  return params;
}

}  // namespace

std::string Router::Resource::allow() const {
  std::string text;
  for (std::size_t i = 0; i < kMethods; ++i) {
    const auto method = static_cast<Method>(i);
    const bool implied = method == Method::options || (method == Method::head && route(Method::get) != nullptr);
    if (!implied && route(method) == nullptr) continue;
    if (!text.empty()) text += ", ";
    text += to_string(method);
  }
  return text;
}

void Router::add(Method method, std::string_view pattern, Handler handler, RouteOptions options) {
  RAILWEAVE_CHECK(handler != nullptr, "a route has a handler");
  RAILWEAVE_CHECK(method != Method::head && method != Method::options && method != Method::other,
                  "HEAD and OPTIONS are the server's own");
  auto added = std::make_unique<Resource>();
  added->pattern = std::string(pattern);
  added->segments = parse_pattern(pattern);
  auto place = std::lower_bound(resources_.begin(), resources_.end(), added,
                                [](const auto& a, const auto& b) { return compare(*a, *b) < 0; });
  if (place == resources_.end() || compare(*added, **place) != 0) {
    place = resources_.insert(place, std::move(added));
  } else {
    RAILWEAVE_CHECK((*place)->pattern == pattern, "two patterns that match the same paths are written alike");
  }
  std::optional<Route>& slot = (*place)->routes[static_cast<std::size_t>(method)];
  RAILWEAVE_CHECK(!slot, "a method is added once to a pattern");
  slot = Route{std::move(handler), std::move(options)};
}

std::optional<Router::Match> Router::match(std::span<const std::string> segments) const {
  for (const auto& resource : resources_) {
    if (matches(*resource, segments)) return Match{resource.get(), capture(*resource, segments)};
  }
  return std::nullopt;
}

}  // namespace railweave::api
