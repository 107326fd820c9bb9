#include "api/http/message/etag.h"

#include "fabric/base/check.h"

namespace railweave::api {
namespace {

constexpr std::string_view kGzipSuffix = "-gzip\"";

bool is_weak(std::string_view etag) { return etag.starts_with("W/"); }

// The tag's text with its opening quote, without W/ and the encoding's suffix; empty when it is no tag.
std::string_view bare(std::string_view etag) {
  if (is_weak(etag)) etag.remove_prefix(2);
  if (etag.size() < 2 || !etag.starts_with('"') || !etag.ends_with('"')) return {};
  etag.remove_suffix(etag.ends_with(kGzipSuffix) ? kGzipSuffix.size() : 1);
  return etag;
}

bool same_thing(std::string_view a, std::string_view b) { return !bare(a).empty() && bare(a) == bare(b); }

}  // namespace

std::string strong_etag(std::string_view opaque) {
  for (const char c : opaque) RAILWEAVE_CHECK(c > ' ' && c < 0x7f && c != '"', "tags are visible ASCII without quotes");
  return '"' + std::string(opaque) + '"';
}

std::string gzip_etag(std::string_view etag) {
  if (is_weak(etag) || etag.size() < 2 || etag.ends_with(kGzipSuffix)) return std::string(etag);
  return std::string(etag.substr(0, etag.size() - 1)) + std::string(kGzipSuffix);
}

std::string matched_if_none_match(const Headers& request, std::string_view etag) {
  if (etag.empty()) return {};
  for (const std::string_view candidate : request.list("If-None-Match")) {
    if (candidate == "*") return std::string(etag);
    if (same_thing(candidate, etag)) return std::string(candidate);
  }
  return {};
}

Precondition if_match(const Headers& request, std::string_view etag) {
  if (!request.contains("If-Match")) return Precondition::absent;
  if (etag.empty()) return Precondition::fails;
  for (const std::string_view candidate : request.list("If-Match")) {
    if (candidate == "*") return Precondition::holds;
    if (!is_weak(candidate) && !is_weak(etag) && same_thing(candidate, etag)) return Precondition::holds;
  }
  return Precondition::fails;
}

}  // namespace railweave::api
