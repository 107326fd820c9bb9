// What notices clients have subscribed to. Bounded; a subscription ends when its port leaves the subnet or gets another LID. Used by one
// thread.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/drivers/infiniband/administration/inform_info.h"
#include "fabric/drivers/infiniband/administration/requester.h"
#include "fabric/drivers/infiniband/administration/sa_answer.h"
#include "fabric/drivers/infiniband/administration/subnet_notice.h"

namespace railweave::fabric::infiniband {

struct SubscriptionBounds {
  std::size_t subscriptions = 16'384;
  std::size_t of_port = 64;  // so that one port leaves room for others
};

class SubscriptionBook {
 public:
  explicit SubscriptionBook(const SubscriptionBounds& bounds = {}) : bounds_(bounds) {}

  // answer: with the header that it is to have.
  SaAnswer answer_set(const Requester& requester, const Mad& request, SaAnswer answer);
  SaAnswer answer_get(const Requester& requester, const Mad& request, SaAnswer answer, std::size_t at_most) const;

  // Who is to be told of it, each client once.
  [[nodiscard]] std::vector<SaClient> subscribers(const AdministeredSubnet& subnet, const SubnetNotice& notice) const;
  [[nodiscard]] bool has(const SaClient& client) const;

  void follow(const AdministeredSubnet& subnet);
  void clear() { subscriptions_.clear(); }
  [[nodiscard]] std::size_t count() const { return subscriptions_.size(); }

 private:
  struct Subscription {
    InformInfo what;  // with the queue pair that it came from
    SaClient client;
    Guid port;
    bool is_trusted = false;  // told whatever there is
  };

  [[nodiscard]] static bool is_about(const InformInfo& what, const SubnetNotice& notice);

  const SubscriptionBounds bounds_;
  std::vector<Subscription> subscriptions_;
};

}  // namespace railweave::fabric::infiniband
