#include "api/client/response_parser.h"

#include <boost/beast/http/error.hpp>

namespace railweave::api {
namespace {

constexpr std::uint32_t kHeaderLimitBytes = 65536;
constexpr std::size_t kHeaderLimit = 256;

}  // namespace

ResponseParser::ResponseParser(std::size_t body_limit_bytes)
    : remaining_bytes_(body_limit_bytes), limit_bytes_(body_limit_bytes) {
  header_limit(kHeaderLimitBytes);
  body_limit(boost::none);  // counted here
  eager(true);
}

void ResponseParser::refuse(Fault fault, Code& error) {
  fault_ = fault;
  error = boost::beast::http::make_error_code(boost::beast::http::error::body_limit);
}

void ResponseParser::on_field_impl(boost::beast::http::field, View name, View value, Code& error) {
  if (head_done_) return;  // trailers mean nothing here
  if (headers.size() == kHeaderLimit) {
    error = boost::beast::http::make_error_code(boost::beast::http::error::header_limit);
    return;
  }
  headers.add(std::string(name), std::string(value));
}

void ResponseParser::on_header_impl(Code&) {
  head_done_ = true;
  if (equal_ignoring_case(headers.value("Content-Encoding"), "gzip")) gunzip_.emplace(limit_bytes_);
}

void ResponseParser::on_body_init_impl(const boost::optional<std::uint64_t>& length, Code& error) {
  body_began_ = true;
  if (length && *length > limit_bytes_) refuse(Fault::too_large, error);
}

std::size_t ResponseParser::on_body_impl(View piece, Code& error) {
  if (piece.size() > remaining_bytes_) {
    refuse(Fault::too_large, error);
    return 0;
  }
  remaining_bytes_ -= piece.size();
  if (!gunzip_) {
    body.append(piece.data(), piece.size());
    return piece.size();
  }
  const Gunzip::Outcome outcome = gunzip_->feed(std::string_view(piece.data(), piece.size()), body);
  if (outcome == Gunzip::Outcome::too_large) refuse(Fault::too_large, error);
  if (outcome == Gunzip::Outcome::malformed) refuse(Fault::bad_gzip, error);
  return piece.size();
}

void ResponseParser::on_finish_impl(Code& error) {
  if (gunzip_ && body_began_ && !gunzip_->complete()) refuse(Fault::bad_gzip, error);
}

}  // namespace railweave::api
