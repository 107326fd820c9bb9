// The two endings most handlers share: an error, and what the control loop said to a command.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "api/http/dispatch/responder.h"
#include "api/http/message/request.h"
#include "services/rest/control_plane.h"

namespace railweave::api {

void reply(const Responder& respond, const control::Rejection& rejection);

// Hands the command to the control loop and answers from there: busy and rejections as problems, else what
// `on_accepted` makes of it (on the control thread: quick).
void submit(const ControlPlane& plane, control::Command command, const Responder& respond,
            std::function<Response(const control::Accepted&)> on_accepted);

// At a fabric that changes while a worker looks at it, before the caller is told so.
inline constexpr int kMostLooks = 3;

// Hands the command over and waits: on a worker thread only.
control::CommandResult decide_now(const ControlPlane& plane, control::Command command);

// Who asks. Until there is authentication everyone is the local user.
std::string actor_of(const Request& request);

// If-Match against a thing of that kind, id and version ("job-000001" and 17: "job-000001.17"): the version to hold the
// command to; none without If-Match; an error when it names another version.
Result<std::optional<std::uint64_t>> wanted_version(const Request& request, const std::string& id,
                                                    std::uint64_t version);
std::string etag_of(const std::string& id, std::uint64_t version);

// 304 when the caller has this version already, else the answer with its ETag.
Response with_etag(const Request& request, Response response, const std::string& etag);

}  // namespace railweave::api
