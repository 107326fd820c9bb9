// Entity tags and the conditions that go by them (RFC 9110, 8.8.3 and 13.1).
//
// Handlers know one tag for a thing, whatever its encoding. A body that the server compresses on its way out is another
// representation, so a strong tag then goes out as "tag-gzip"; the functions here take both for the same, so a client
// may send either back in If-Match or If-None-Match.
#pragma once

#include <string>
#include <string_view>

#include "api/http/message/headers.h"

namespace railweave::api {

// The opaque text in quotes: strong_etag("job-7.12") is "job-7.12" with its quotes. Visible ASCII without quotes only.
std::string strong_etag(std::string_view opaque);

// As sent with the gzip encoding: "tag-gzip"; a weak tag stays.
std::string gzip_etag(std::string_view etag);

// The element of If-None-Match that the tag matches, by weak comparison, as the client sent it ("*" gives the tag
// itself); "" when there is none: the answer is then a full one.
std::string matched_if_none_match(const Headers& request, std::string_view etag);

enum class Precondition { absent, holds, fails };

// If-Match by strong comparison; weak tags never match. An empty etag means that the thing does not exist: even "*"
// fails.
Precondition if_match(const Headers& request, std::string_view etag);

}  // namespace railweave::api
