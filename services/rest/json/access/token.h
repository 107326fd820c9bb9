// Access tokens as JSON. No answer holds a secret or its hash, but for the one that issues the token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "services/control/state/access_token.h"

namespace railweave::api {

// The body of POST /v1/tokens: name, role, tenant and expiry of a token.
Result<control::AccessToken> read_token_request(std::string_view body);

// text: the whole token, shown once; "" leaves it out.
std::string write_token(const control::AccessToken& token, std::int64_t now_us, const std::string& text = {});

// Who the caller is: the name, role, tenant and node of a token as it could have; and by what it is known: "token", "none".
std::string write_caller(const control::AccessToken& as, std::string_view known_by);

}  // namespace railweave::api
