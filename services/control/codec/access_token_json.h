// Access tokens <-> JSON values of the journal and of snapshots. Answers never hold what is here: services/rest/json/access/token.h.
#pragma once

#include "services/control/events/event.h"
#include "services/control/state/cluster_state.h"
#include "services/json/json_out.h"
#include "services/json/record.h"
#include "services/json/strict_json.h"

namespace railweave::api {

inline constexpr ByText kRoleText{[](control::Role role) { return to_text(role); },
                                  [](std::string_view text) { return parse_enum<control::Role>(text); }, "role",
                                  "viewer, member, operator, administrator or agent"};

Out to_json(const control::TokenIssued& event);
Out to_json(const control::TokenRevoked& event);
Result<control::EventBody> token_issued_from_json(const Json& data);
Result<control::EventBody> token_revoked_from_json(const Json& data);

Out access_tokens_to_json(const control::AccessTokenTable& tokens);
Result<void> read_access_tokens(const Json& list, control::ClusterState& state);

}  // namespace railweave::api
