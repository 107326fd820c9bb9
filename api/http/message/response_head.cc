#include "api/http/message/response_head.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace railweave::api {
namespace {

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += "\r\n";
}

}  // namespace

void append_head(std::string& out, const Response& response, const HeadContext& context) {
  out += "HTTP/1.1 ";
  out += std::to_string(response.status);
  out += ' ';
  out += status_text(response.status);
  out += "\r\n";
  append_field(out, "Date", context.date);
  append_field(out, "Server", context.server_name);
  if (!response.content_type.empty()) {
    append_field(out, "Content-Type", response.content_type);
    append_field(out, "X-Content-Type-Options", "nosniff");
  }
  for (const auto& [name, value] : response.headers) append_field(out, name, value);
  if (!context.request_id.empty()) append_field(out, "X-Request-Id", context.request_id);
  if (context.tls) append_field(out, "Strict-Transport-Security", "max-age=31536000");
  if (context.chunked) append_field(out, "Transfer-Encoding", "chunked");
  if (context.length_bytes) append_field(out, "Content-Length", std::to_string(*context.length_bytes));
  append_field(out, "Connection", context.keep_alive ? "keep-alive" : "close");
  out += "\r\n";
}

std::string http_date(std::int64_t unix_seconds) {
  constexpr std::array<const char*, 7> days = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                   days[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                                   months[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900, parts.tm_hour,
                                   parts.tm_min, parts.tm_sec);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace railweave::api
