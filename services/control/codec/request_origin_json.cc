#include "services/control/codec/request_origin_json.h"

namespace railweave::api {

std::optional<control::RequestOrigin> origin_of_payload(const Json& payload) {
  const auto member = payload.find("origin");
  if (member == payload.end()) return std::nullopt;
  ObjectReader reader(*member, "/origin");
  control::RequestOrigin origin;
  read_fields(reader, origin, kOriginFields);
  if (auto done = reader.finish(); !done) return std::nullopt;
  return origin;
}

}  // namespace railweave::api
