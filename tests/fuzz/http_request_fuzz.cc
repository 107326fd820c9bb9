// What arrives at the port: any bytes, in pieces of any size. The first byte chooses the size of the pieces, which make no
// difference to what was read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "api/http/connection/asio.h"
#include "api/http/connection/request_parser.h"
#include "api/http/dispatch/request_checks.h"
#include "api/http/message/target.h"
#include "fabric/base/check.h"

using namespace railweave;  // NOLINT

namespace {

struct Outcome {
  bool head = false, done = false;
  std::string method, target, body;
  std::size_t headers = 0;
  api::RequestParser::Fault fault{};
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome read(std::string_view bytes, std::size_t piece) {
  constexpr std::size_t kBody = 1U << 16U;
  const auto budget = std::make_shared<api::BodyBudget>(kBody);
  api::BodyCharge charge(budget);
  api::RequestParser parser({.header_bytes = 16'384, .header_count = 100, .target_bytes = 8'192});
  parser.eager(true);
  std::string pending;
  bool expects = false;
  while (!bytes.empty() && !parser.is_done()) {
    pending += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    boost::beast::error_code error;
    // As the connection does: the head alone first, then the body with its limits.
    if (!expects) {
      parser.eager(false);
      const std::size_t used = parser.put(boost::asio::buffer(pending), error);
      pending.erase(0, used);
      if (error == boost::beast::http::error::need_more) continue;
      if (error) break;
      if (!parser.is_header_done()) continue;
      parser.expect_body(kBody, parser.headers.value("Content-Encoding") == "gzip", charge);
      parser.eager(true);
      expects = true;
    }
    while (!pending.empty() && !parser.is_done()) {
      const std::size_t used = parser.put(boost::asio::buffer(pending), error);
      pending.erase(0, used);
      if (error || used == 0) break;
    }
    if (error && error != boost::beast::http::error::need_more) break;
  }
  Outcome outcome{parser.is_header_done(), parser.is_done(), parser.method, parser.target, parser.body, 0,
                  parser.fault()};
  RAILWEAVE_CHECK(parser.target.size() <= 8'192 && parser.body.size() <= kBody, "a request is as long as it may be");
  if (outcome.head) {
    for (const auto& field : parser.headers) outcome.headers += field.first.size() + 1;
    (void)api::check_framing(parser.version, parser.headers);
    (void)api::check_origin(api::parse_method(parser.method), parser.headers, {"fabric.example"}, false);
    (void)api::check_media_type(parser.headers, {"application/json"});
    if (const auto target = api::parse_target(parser.target); !target) {
      RAILWEAVE_CHECK(!target.error().code.empty() && !target.error().message.empty(), "an error says what is wrong");
    }
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 40'000) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = read(bytes, bytes.size() + 1);
  const Outcome cut = read(bytes, 1U + data[0]);
  RAILWEAVE_CHECK(!whole.done || whole == cut, "a request is the same in pieces");
  return 0;
}
