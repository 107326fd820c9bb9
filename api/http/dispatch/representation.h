// Private to this folder: the form in which a handler's answer is sent: without a body when the client has it already
// (304), compressed when the client accepts that.
#pragma once

#include "api/http/dispatch/server_options.h"
#include "api/http/message/request.h"
#include "api/http/message/response.h"

namespace railweave::api {

// Answers whose headers could not be sent as they are become a 500 problem; a 200 to GET whose ETag the client named in
// If-None-Match becomes a 304; Vary is set where the encoding is chosen by the request.
void settle(const Request& request, const ServerOptions& options, Response& response);

// Whether the settled body should be sent compressed.
bool wants_gzip(const Request& request, const ServerOptions& options, const Response& response);

// Compresses the body and says so, with the tag of the compressed representation. Leaves it unchanged where
// compression does not make it smaller.
void apply_gzip(const ServerOptions& options, Response& response);

// For HEAD: the headers that apply_gzip() would set.
void mark_gzip(Response& response);

}  // namespace railweave::api
