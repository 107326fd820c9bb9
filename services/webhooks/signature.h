// What proves to a receiver that an event is Railweave's and when it was sent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace railweave::webhooks {

// "t=1700000000,v1=5257a8...": HMAC-SHA256 of "<seconds since 1970>.<body>" with the secret, in hexadecimal digits.
std::string signature(std::string_view secret, std::int64_t time_s, std::string_view body);

}  // namespace railweave::webhooks
