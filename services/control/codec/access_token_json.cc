#include "services/control/codec/access_token_json.h"

#include <memory>
#include <tuple>
#include <utility>

#include "services/control/codec/event_body.h"
#include "services/json/record.h"

namespace railweave::api {
namespace {

using control::AccessToken;
using control::TokenIssued;
using control::TokenRevoked;

constexpr std::tuple kIssuedFields{required_field("id", &AccessToken::id),
                                   field("name", &AccessToken::name),
                                   required_field("role", &AccessToken::role, kRoleText),
                                   optional_field("tenant", &AccessToken::tenant),
                                   optional_field("node", &AccessToken::node),
                                   required_field("sha256", &AccessToken::sha256),
                                   optional_field("expiresUs", &AccessToken::expires_us)};
// Those that apply() takes from the event, beside the others in a snapshot.
constexpr std::tuple kAppliedFields{field("issuedBy", &AccessToken::issued_by),
                                    field("issuedUs", &AccessToken::issued_us),
                                    field("version", &AccessToken::version)};
constexpr std::tuple kRevokedFields{required_field("id", &TokenRevoked::id), field("name", &TokenRevoked::name)};

}  // namespace

Out to_json(const TokenIssued& event) { return fields_json(event.token, kIssuedFields); }
Out to_json(const TokenRevoked& event) { return fields_json(event, kRevokedFields); }

Result<control::EventBody> token_issued_from_json(const Json& data) {
  auto token = record_from_json<AccessToken>(data, "/data", kIssuedFields);
  if (!token) return std::unexpected(token.error());
  return control::EventBody{TokenIssued{std::move(*token)}};
}

Result<control::EventBody> token_revoked_from_json(const Json& data) {
  return body_of<TokenRevoked>(data, kRevokedFields);
}

Out access_tokens_to_json(const control::AccessTokenTable& tokens) {
  Out list = Out::array();
  for (const auto& [id, token] : tokens) {
    Out value = fields_json(token, kIssuedFields);
    write_fields(value, token, kAppliedFields);
    list.push_back(std::move(value));
  }
  return list;
}

Result<void> read_access_tokens(const Json& list, control::ClusterState& state) {
  control::AccessTokenTable tokens;
  for (const auto& item : list) {
    AccessToken token;
    ObjectReader reader(item, "/tokens");
    read_fields(reader, token, kIssuedFields);
    read_fields(reader, token, kAppliedFields);
    if (auto done = reader.finish(); !done) return std::unexpected(done.error());
    std::string id = token.id;
    tokens.emplace(std::move(id), std::move(token));
  }
  state.access_tokens = std::make_shared<const control::AccessTokenTable>(std::move(tokens));
  return {};
}

}  // namespace railweave::api
