// That a job was running already when it was submitted, where another scheduler had put it.
#pragma once

#include <vector>

#include "fabric/base/message.h"

namespace railweave::control {

struct Adoption {
  static constexpr std::size_t kMaxFindings = 50;

  // What a placement of Railweave's own would not have done, as of the adoption: "node n1 is drained".
  std::vector<Message> findings;
  friend bool operator==(const Adoption&, const Adoption&) = default;
};

}  // namespace railweave::control
