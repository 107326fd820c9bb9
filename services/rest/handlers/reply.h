// What handlers share beyond their results: rejections of the control loop, commands whose outcome a worker waits for,
// and ETags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/http/dispatch/responder.h"
#include "api/http/message/request.h"
#include "services/rest/access/viewer.h"
#include "services/rest/handlers/route_table.h"

namespace railweave::api {

// The problem document of a rejected command: the error, and why a job was not placed or which links are full.
Problem to_problem(const MessageReader& reader, const control::Rejection& rejection);
// As the answer of a handler that decided or waited itself.
Response rejected(const Call& call, const control::Rejection& rejection);

// 202 with the id of the operation whose outcome the caller polls.
Response operation_started(const std::string& operation);

Error too_busy();  // the queue of the control loop is full

// How often a worker computes on a fabric that changes meanwhile, before the caller gets the conflict.
inline constexpr int kMaxAttempts = 3;

// Hands the command to the control loop and waits for the outcome: on a worker thread only.
control::CommandResult decide_now(const Call& call, decltype(control::Command::body) command);

// The user that a command is recorded for: the name of the token. Without authentication every caller is the local user.
std::string actor_of(const Request& request);
control::RequestOrigin origin_of(const Request& request);

std::string etag_of(const std::string& id, std::uint64_t version);  // "<id>.<version>", in quotes

// The tag of an answer that follows from the version alone; of this run of the program, as another release may answer
// differently.
std::string run_etag(const std::string& id, std::uint64_t version);

// The 304 where the caller has this version already: before anything is built.
std::optional<Response> not_modified(const Call& call, const std::string& etag);

// 304 when the caller has this version already, else the answer with its ETag.
Response with_etag(const Call& call, Response response, const std::string& etag);

}  // namespace railweave::api
