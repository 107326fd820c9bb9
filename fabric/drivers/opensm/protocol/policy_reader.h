// Reads policy documents from an untrusted stream of bytes. A document that breaks a rule is refused whole; reading
// continues after its `end` line. See protocol.md.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "fabric/base/fnv1a.h"
#include "fabric/drivers/opensm/protocol/protocol_line.h"
#include "fabric/drivers/opensm/protocol/routing_policy.h"

namespace railweave::fabric::opensm {

class PolicyReader {
 public:
  // Every document that ends in the bytes is added to `done`: the policy, or why it is refused, naming the line. false:
  // a document beyond all limits is being sent, and what follows cannot be read; nothing more must be fed.
  [[nodiscard]] bool feed(std::string_view bytes, std::vector<Result<RoutingPolicy>>& done);
  // Between two documents.
  [[nodiscard]] bool idle() const { return line_ == 0 && splitter_.empty(); }

 private:
  void take(std::string_view line, bool whole, std::vector<Result<RoutingPolicy>>& done);
  void finish(std::string_view line, std::vector<Result<RoutingPolicy>>& done);
  void refuse(std::string what, std::string_view line);

  LineSplitter splitter_;
  RoutingPolicy policy_;
  Fnv1a digest_;
  std::size_t line_ = 0;  // of the document
  std::optional<Error> refusal_;
};

// One document that is all of the text.
Result<RoutingPolicy> read_policy(std::string_view text);

}  // namespace railweave::fabric::opensm
