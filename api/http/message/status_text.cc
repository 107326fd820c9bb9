#include <algorithm>
#include <array>
#include <utility>

#include "api/http/message/response.h"

namespace railweave::api {
namespace {

// Reason phrases of RFC 9110, section 15, and RFC 6585, ascending. Beast's own are those of older RFCs.
constexpr std::array<std::pair<int, std::string_view>, 38> kStatusTexts{{
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
}};
static_assert(std::ranges::is_sorted(kStatusTexts));

}  // namespace

std::string_view status_text(int status) {
  const auto found = std::ranges::lower_bound(kStatusTexts, status, {}, &std::pair<int, std::string_view>::first);
  return found != kStatusTexts.end() && found->first == status ? found->second : "Unknown";
}

}  // namespace railweave::api
