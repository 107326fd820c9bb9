#include "api/http/message/gzip.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <new>

#include <zlib.h>

#include "fabric/base/check.h"

namespace railweave::api {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // zlib.h: 16 more means a gzip header and trailer

// The weight of an Accept-Encoding element; 1 when there is none, 0 when it cannot be read.
double weight(std::string_view parameters) {
  const std::size_t q = parameters.find_first_of("qQ");
  if (q == std::string_view::npos) return 1;
  std::string_view value = trimmed(parameters.substr(q + 1));
  if (!value.starts_with('=')) return 0;
  value = trimmed(value.substr(1));
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() ? number : 0;
}

class Deflater {
 public:
  explicit Deflater(int level) : level_(level) {
    if (deflateInit2(&stream_, level, Z_DEFLATED, kGzipWindowBits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  [[nodiscard]] int level() const { return level_; }

  std::string run(std::string_view bytes) {
    RAILWEAVE_CHECK(bytes.size() < std::numeric_limits<uInt>::max() / 2, "bodies are far below zlib's limit");
    RAILWEAVE_CHECK(deflateReset(&stream_) == Z_OK, "a deflate state can be reset");
    std::string out(deflateBound(&stream_, bytes.size()), '\0');
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    RAILWEAVE_CHECK(deflate(&stream_, Z_FINISH) == Z_STREAM_END, "deflateBound is a bound");
    out.resize(out.size() - stream_.avail_out);
    return out;
  }

 private:
  z_stream stream_{};
  int level_;
};

}  // namespace

bool accepts_gzip(const Headers& request) {
  bool any = false;
  for (const std::string_view element : request.list("Accept-Encoding")) {
    const std::size_t semicolon = element.find(';');
    const std::string_view coding = trimmed(element.substr(0, semicolon));
    const bool allowed = semicolon == std::string_view::npos || weight(element.substr(semicolon + 1)) > 0;
    if (equal_ignoring_case(coding, "gzip") || equal_ignoring_case(coding, "x-gzip")) return allowed;
    if (coding == "*") any = allowed;
  }
  return any;
}

bool is_compressible(std::string_view content_type) {
  const std::string_view type = trimmed(content_type.substr(0, content_type.find(';')));
  if (type.size() >= 5 && equal_ignoring_case(type.substr(0, 5), "text/"))
    return !equal_ignoring_case(type, "text/event-stream");
  if (type.size() >= 5 && equal_ignoring_case(type.substr(type.size() - 5), "+json")) return true;
  constexpr std::array<std::string_view, 6> others = {"application/json",       "application/yaml", "application/xml",
                                                      "application/javascript", "image/svg+xml",    "application/wasm"};
  return std::any_of(others.begin(), others.end(),
                     [&](std::string_view known) { return equal_ignoring_case(type, known); });
}

std::string gzip(std::string_view bytes, int level) {
  thread_local std::unique_ptr<Deflater> deflater;
  if (!deflater || deflater->level() != level) deflater = std::make_unique<Deflater>(level);
  return deflater->run(bytes);
}

struct Gunzip::Stream {
  Stream() {
    if (inflateInit2(&z, kGzipWindowBits) != Z_OK) throw std::bad_alloc();
  }
  ~Stream() { inflateEnd(&z); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  z_stream z{};
};

Gunzip::Gunzip(std::size_t limit_bytes) : stream_(std::make_unique<Stream>()), remaining_bytes_(limit_bytes) {}
Gunzip::~Gunzip() = default;

Gunzip::Outcome Gunzip::feed(std::string_view piece, std::string& out) {
  z_stream& z = stream_->z;
  RAILWEAVE_CHECK(piece.size() < std::numeric_limits<uInt>::max(), "pieces are small");
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
  z.avail_in = static_cast<uInt>(piece.size());
  std::array<char, 16384> buffer;
  for (;;) {
    if (at_member_end_) {
      if (z.avail_in == 0) return Outcome::ok;
      RAILWEAVE_CHECK(inflateReset(&z) == Z_OK, "an inflate state can be reset");
      at_member_end_ = false;
    }
    z.next_out = reinterpret_cast<Bytef*>(buffer.data());
    z.avail_out = static_cast<uInt>(buffer.size());
    const int result = inflate(&z, Z_NO_FLUSH);
    const std::size_t produced = buffer.size() - z.avail_out;
    if (produced > remaining_bytes_) return Outcome::too_large;
    remaining_bytes_ -= produced;
    out.append(buffer.data(), produced);
    if (result == Z_STREAM_END) {
      at_member_end_ = true;
    } else if (result == Z_BUF_ERROR) {
      return Outcome::ok;  // nothing more to read or write: wants the next piece
    } else if (result != Z_OK) {
      return Outcome::malformed;
    } else if (z.avail_in == 0 && z.avail_out != 0) {
      return Outcome::ok;
    }
  }
}

}  // namespace railweave::api
