// Private to this folder: the status line and header fields of an answer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/message/response.h"

namespace railweave::api {

struct HeadContext {
  std::string_view server_name;
  std::string_view date;        // as http_date() gives it
  std::string_view request_id;  // may be empty
  bool keep_alive = true;
  bool chunked = false;
  bool tls = false;                         // then the answer asks for nothing but TLS from now on
  std::optional<std::size_t> length_bytes;  // std::nullopt: no Content-Length
};

// Appends the whole head with its empty line. The response must be settled: its headers are sent as they are.
void append_head(std::string& out, const Response& response, const HeadContext& context);

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7).
std::string http_date(std::int64_t unix_seconds);

}  // namespace railweave::api
