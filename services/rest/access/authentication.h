// Who a request is from: by the token that its Authorization shows (of this service, or of an OpenID Connect provider), else
// by its connection: the user at the other end of a Unix socket, or the certificate that a client showed. A request that
// another replica sends on is from whom that replica says (on_behalf.h). Called on I/O threads.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "api/http/message/headers.h"
#include "api/http/message/peer.h"
#include "api/http/message/problem.h"
#include "services/rest/access/caller.h"
#include "services/rest/access/oidc.h"
#include "services/rest/access/rate_limit.h"

namespace railweave::api {

// A client that shows a certificate with this name.
struct CertificateAccount {
  std::string
      name;  // a DNS name, an address of mail or a URI of the certificate; its common name where it has none of them
  control::Role role = control::Role::viewer;
  std::string tenant;  // of members
  std::string node;    // of agents
};

// Who is known besides the owners of this service's tokens.
struct KnownCallers {
  std::uint32_t own_uid = 0;  // of the service: it and root are administrators on the Unix socket
  std::vector<CertificateAccount> certificates;
  std::vector<std::string> replicas;  // names in the certificates of replicas, which alone may speak for others
  std::shared_ptr<Oidc> oidc;         // null: no provider
};

// A token that never was, one that was revoked and a wrong secret are one answer. 429 beyond the limit of requests, which each
// caller has for itself. A token goes before what the connection says.
std::expected<std::shared_ptr<const Caller>, Problem> authenticate(const Headers& headers, const Peer& peer,
                                                                   const control::AccessTokenTable& tokens,
                                                                   const KnownCallers& known, std::int64_t now_us,
                                                                   RateLimit& limit);

}  // namespace railweave::api
