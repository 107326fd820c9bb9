// Private to this folder: Beast's HTTP/1 parser, filling our own request head and a bounded body. One per request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <boost/beast/http/basic_parser.hpp>

#include "api/http/dispatch/body_budget.h"
#include "api/http/message/gzip.h"
#include "api/http/message/headers.h"

namespace railweave::api {

class RequestParser final : public boost::beast::http::basic_parser<true> {
 public:
  struct Limits {
    std::size_t header_bytes = 0;
    std::size_t header_count = 0;
    std::size_t target_bytes = 0;
  };
  // What this parser, not Beast, refused; put() then fails with some error.
  enum class Fault { none, too_many_headers, target_too_long, body_too_large, no_budget, bad_gzip };

  explicit RequestParser(const Limits& limits);

  // Before the body is parsed: its largest size, as sent and as inflated, and what its bytes are charged to.
  void expect_body(std::size_t limit_bytes, bool gzipped, BodyCharge& charge);

  [[nodiscard]] Fault fault() const { return fault_; }
  [[nodiscard]] bool has_target() const { return !target.empty(); }

  // Of the head; `version` is 10 or 11.
  std::string method;
  std::string target;
  int version = 11;
  Headers headers;
  std::string body;

 private:
  using Code = boost::beast::error_code;
  using View = boost::beast::string_view;

  void on_request_impl(boost::beast::http::verb, View method_text, View target_text, int version_number,
                       Code& error) override;
  void on_response_impl(int, View, int, Code&) override {}
  void on_field_impl(boost::beast::http::field, View name, View value, Code& error) override;
  void on_header_impl(Code&) override { head_done_ = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, Code& error) override;
  std::size_t on_body_impl(View piece, Code& error) override;
  void on_chunk_header_impl(std::uint64_t size, View, Code& error) override;
  std::size_t on_chunk_body_impl(std::uint64_t, View piece, Code& error) override { return on_body_impl(piece, error); }
  void on_finish_impl(Code& error) override;

  void refuse(Fault fault, Code& error);

  const Limits limits_;
  Fault fault_ = Fault::none;
  bool head_done_ = false;
  std::size_t body_limit_bytes_ = 0;
  std::size_t received_bytes_ = 0;
  std::size_t expected_bytes_ = 0;
  std::optional<Gunzip> gunzip_;
  BodyCharge* charge_ = nullptr;
};

}  // namespace railweave::api
