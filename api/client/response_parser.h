// Private to this folder: Beast's HTTP/1 parser for answers, with a bounded body that is inflated as it comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <boost/beast/http/basic_parser.hpp>

#include "api/http/message/gzip.h"
#include "api/http/message/headers.h"

namespace railweave::api {

class ResponseParser final : public boost::beast::http::basic_parser<false> {
 public:
  enum class Fault { none, too_large, bad_gzip };

  // The limit holds for the body as received and for what it inflates to.
  explicit ResponseParser(std::size_t body_limit_bytes);

  [[nodiscard]] Fault fault() const { return fault_; }

  int status = 0;
  Headers headers;
  std::string body;

 private:
  using Code = boost::beast::error_code;
  using View = boost::beast::string_view;

  void on_request_impl(boost::beast::http::verb, View, View, int, Code&) override {}
  void on_response_impl(int code, View, int, Code&) override { status = code; }
  void on_field_impl(boost::beast::http::field, View name, View value, Code& error) override;
  void on_header_impl(Code&) override;
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, Code& error) override;
  std::size_t on_body_impl(View piece, Code& error) override;
  void on_chunk_header_impl(std::uint64_t, View, Code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, View piece, Code& error) override { return on_body_impl(piece, error); }
  void on_finish_impl(Code& error) override;

  void refuse(Fault fault, Code& error);

  std::size_t remaining_bytes_;
  const std::size_t limit_bytes_;
  Fault fault_ = Fault::none;
  bool head_done_ = false;
  bool body_began_ = false;
  std::optional<Gunzip> gunzip_;
};

}  // namespace railweave::api
