// Ends the reading of an event's body.
#pragma once

#include <expected>
#include <utility>

#include "services/control/events/event.h"
#include "services/json/strict_json.h"

namespace railweave::api {

// The body, or what was wrong with its fields.
template <class Body>
Result<control::EventBody> finished(ObjectReader& reader, Body body) {
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return control::EventBody{std::move(body)};
}

}  // namespace railweave::api
