#include "services/rest/certificates/certificate_routes.h"

#include <mutex>
#include <string>
#include <utility>

#include "fabric/routing/opensm/fdbs_text.h"
#include "services/rest/handlers/guarantees/open_book.h"
#include "services/rest/handlers/reply.h"
#include "services/rest/json/guarantees/certificate.h"
#include "services/rest/json/guarantees/guarantee.h"

namespace railweave::api {
namespace {

// The digest of all entries takes a second on a large fabric: kept until there are other routes.
class RoutesDigest {
 public:
  std::uint64_t of(const control::FabricRoutesPtr& routes) {
    const std::lock_guard lock(mutex_);
    if (routes_ != routes) digest_ = fabric::entries_digest(routes->routing.tables);
    routes_ = routes;
    return digest_;
  }

 private:
  std::mutex mutex_;
  control::FabricRoutesPtr routes_;
  std::uint64_t digest_ = 0;
};

Result<Response> get_certificate(const Call& call, const SigningKey* key, RoutesDigest& digests) {
  const auto state = call.plane.loop.state();
  control::FabricRoutesPtr routes;
  fabric::Ledger ledger;
  const std::string etag = run_etag("certificate", state->seq);
  if (auto known = not_modified(call, etag)) return std::move(*known);
  {  // the shared book answers others while the certificate is written
    auto open = open_book(call.plane, *state);
    if (!open) return std::unexpected(open.error());
    routes = open->book.routes();
    ledger = open->book.ledger();
  }
  std::string certificate = write_guarantee_certificate(*state, *routes, digests.of(routes), ledger);
  if (key != nullptr) certificate = signed_certificate(std::move(certificate), *key);
  return Response::json(std::move(certificate)).with("ETag", etag);
}

Result<Response> get_key(const SigningKey* key) {
  if (key != nullptr) return Response::json(write_certificate_key(*key));
  return fail(ErrorKind::notFound, "certificate.notSigned", "this service signs no certificates", {},
              "name a key as certificate_key in its configuration");
}

}  // namespace

void add_certificate_routes(RouteTable& routes, const std::shared_ptr<const SigningKey>& key) {
  const RouteOptions heavy{.compute = true, .heavy = true};
  routes.get("/v1/guarantees/certificate", {.access = kViewers, .by = AnsweredBy::leader, .http = heavy},
             [key, digests = std::make_shared<RoutesDigest>()](const Call& call) {
               return get_certificate(call, key.get(), *digests);
             });
  // Each replica may have a key of its own: the one that signs is the leader's.
  routes.get("/v1/guarantees/certificate/key", {.access = kViewers, .by = AnsweredBy::leader},
             [key](const Call&) { return get_key(key.get()); });
}

}  // namespace railweave::api
