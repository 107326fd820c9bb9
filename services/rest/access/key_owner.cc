#include "services/rest/access/key_owner.h"

#include "services/json/digest.h"
#include "services/rest/access/caller.h"

namespace railweave::api {

std::string key_owner(const Request& request) {
  const Caller* caller = request.caller.get();
  if (caller == nullptr) return {};
  const std::string known_by(railweave::to_text(caller->known_by));
  return caller->tenant + "/" + sha256_hex(known_by + " " + caller->name).substr(0, 32);
}

}  // namespace railweave::api
