// Reading the bodies of events.
#pragma once

#include <utility>

#include "services/control/events/event.h"
#include "services/json/record.h"

namespace railweave::api {

// Ends the reading: the body, or what was wrong with its fields.
template <class Body>
Result<control::EventBody> finished(ObjectReader& reader, Body body) {
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return control::EventBody{std::move(body)};
}

// A body that has these fields and no others.
template <class Body, class Fields>
Result<control::EventBody> body_of(const Json& data, const Fields& fields) {
  auto body = record_from_json<Body>(data, "/data", fields);
  if (!body) return std::unexpected(body.error());
  return control::EventBody{std::move(*body)};
}

}  // namespace railweave::api
