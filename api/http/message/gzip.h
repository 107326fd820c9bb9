// The gzip content coding: compression, and decompression with a bound on its output.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "api/http/message/headers.h"

namespace railweave::api {

// Whether Accept-Encoding allows gzip (RFC 9110, 12.5.3): not with q=0, and not when the field is absent.
bool accepts_gzip(const Headers& request);

// Text and JSON are worth compressing; images and archives are not.
bool is_compressible(std::string_view content_type);

// level 1 (fast) to 9. Thread-safe; each thread keeps one deflate state (about 256 KB).
std::string gzip(std::string_view bytes, int level);

// Inflates piece by piece. Concatenated members are one stream, as RFC 1952 says. Not thread-safe.
class Gunzip {
 public:
  enum class Outcome { ok, too_large, malformed };

  // `limit_bytes` bounds everything that comes out.
  explicit Gunzip(std::size_t limit_bytes);
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  // Appends what the piece holds to `out`. After anything but ok, feed no more.
  Outcome feed(std::string_view piece, std::string& out);

  // At the end of a member: what was fed is a whole stream.
  [[nodiscard]] bool complete() const { return at_member_end_; }

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
  std::size_t remaining_bytes_;
  bool at_member_end_ = false;
};

}  // namespace railweave::api
