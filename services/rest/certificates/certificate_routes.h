// Certificates of guarantees over REST, and the public key that they are signed with.
#pragma once

#include <memory>

#include "services/json/signing_key.h"
#include "services/rest/handlers/route_table.h"

namespace railweave::api {

// key: null where certificates are not signed.
void add_certificate_routes(RouteTable& routes, const std::shared_ptr<const SigningKey>& key);

}  // namespace railweave::api
