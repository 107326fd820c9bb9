// Takes out of a text what gives access to something: it goes to people who are not the site's own. When in doubt it takes too much.
#pragma once

#include <string>
#include <string_view>

namespace railweave::cli {

// What is put in the place of a secret.
inline constexpr std::string_view kRedacted = "***";

// Of configuration (TOML, YAML, JSON, files of environment variables), answers of the service and logs:
// - values of names that speak of secrets (password, token, secret, credential, authorization, ...), but not paths of files with them;
// - Railweave's tokens, but for their public half; JSON Web Tokens; what follows "Bearer" and "Basic"; private keys in PEM;
// - passwords in addresses of any scheme, and path and query of http(s) addresses: those of webhooks are secrets.
std::string redacted(std::string_view text);

}  // namespace railweave::cli
