#include "api/http/connection/request_parser.h"

#include <boost/beast/http/error.hpp>

namespace railweave::api {
namespace {

// Room for the whole body is set aside only once this much of it has come: a length alone costs a caller nothing.
constexpr std::size_t kProvenBytes = std::size_t{1} << 16U;

}  // namespace

RequestParser::RequestParser(const Limits& limits) : limits_(limits) {
  header_limit(static_cast<std::uint32_t>(limits.header_bytes));
  body_limit(boost::none);  // counted here, after the route is known
}

void RequestParser::expect_body(std::size_t limit_bytes, bool gzipped, BodyCharge& charge) {
  body_limit_bytes_ = limit_bytes;
  charge_ = &charge;
  if (gzipped) gunzip_.emplace(limit_bytes);
  eager(true);
}

void RequestParser::refuse(Fault fault, Code& error) {
  fault_ = fault;
  error = boost::beast::http::make_error_code(boost::beast::http::error::body_limit);
}

void RequestParser::on_request_impl(boost::beast::http::verb, View method_text, View target_text, int version_number,
                                    Code& error) {
  if (target_text.size() > limits_.target_bytes) return refuse(Fault::target_too_long, error);
  method = std::string(method_text);
  target = std::string(target_text);
  version = version_number;
}

void RequestParser::on_field_impl(boost::beast::http::field, View name, View value, Code& error) {
  if (head_done_) return;  // trailers mean nothing here
  if (headers.size() == limits_.header_count) return refuse(Fault::too_many_headers, error);
  headers.add(std::string(name), std::string(value));
}

void RequestParser::on_body_init_impl(const boost::optional<std::uint64_t>& length, Code& error) {
  if (!length) return;
  if (*length > body_limit_bytes_) return refuse(Fault::body_too_large, error);
  expected_bytes_ = static_cast<std::size_t>(*length);
}

void RequestParser::on_chunk_header_impl(std::uint64_t size, View, Code& error) {
  if (size > body_limit_bytes_ - received_bytes_) refuse(Fault::body_too_large, error);
}

std::size_t RequestParser::on_body_impl(View piece, Code& error) {
  if (piece.size() > body_limit_bytes_ - received_bytes_) {
    refuse(Fault::body_too_large, error);
    return 0;
  }
  received_bytes_ += piece.size();
  const std::size_t before = body.size();
  if (gunzip_) {
    const Gunzip::Outcome outcome = gunzip_->feed(std::string_view(piece.data(), piece.size()), body);
    if (outcome == Gunzip::Outcome::too_large) refuse(Fault::body_too_large, error);
    if (outcome == Gunzip::Outcome::malformed) refuse(Fault::bad_gzip, error);
  } else {
    if (expected_bytes_ > body.capacity() && (expected_bytes_ <= kProvenBytes || received_bytes_ >= kProvenBytes)) {
      body.reserve(expected_bytes_);
    }
    body.append(piece.data(), piece.size());
  }
  if (!error && !charge_->take(body.size() - before)) refuse(Fault::no_budget, error);
  return piece.size();
}

void RequestParser::on_finish_impl(Code& error) {
  if (gunzip_ && !gunzip_->complete()) refuse(Fault::bad_gzip, error);
}

}  // namespace railweave::api
