// Services that clients have registered: names and numbers under which others find a port (IBA 15.2.5.14). Bounded, each as long as its
// lease. Who registered one may change and end it; others see it where they are in its partition. Used by one thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "fabric/drivers/infiniband/administration/requester.h"
#include "fabric/drivers/infiniband/administration/sa_answer.h"

namespace railweave::fabric::infiniband {

struct ServiceBounds {
  std::size_t services = 4096;
  std::size_t services_of_port = 128;
};

class ServiceBook {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kRecordBytes = 176;

  explicit ServiceBook(const ServiceBounds& bounds = {}) : bounds_(bounds) {}

  // answer: with the header that it is to have. Each ends first what has run out.
  SaAnswer answer_set(const Requester& requester, const Mad& request, SaAnswer answer, TimePoint now);
  SaAnswer answer_remove(const Requester& requester, const Mad& request, SaAnswer answer, TimePoint now);
  SaAnswer answer_get(const Requester& requester, const Mad& request, SaAnswer answer, TimePoint now,
                      std::size_t at_most);

  // Ports that are no longer there have ended what they registered.
  void follow(const AdministeredSubnet& subnet);
  void clear() { services_.clear(); }
  [[nodiscard]] std::size_t count() const { return services_.size(); }

 private:
  struct Service {
    std::array<std::uint8_t, kRecordBytes> record{};
    Guid owner;  // the port that registered it
    bool ends = false;
    TimePoint end;
  };

  void expire(TimePoint now);
  [[nodiscard]] static bool may_see(const Requester& requester, const Service& service);
  [[nodiscard]] static bool may_change(const Requester& requester, const Service& service);
  static void give(const Requester& requester, const Service& service, TimePoint now, SaAnswer& answer);

  const ServiceBounds bounds_;
  std::vector<Service> services_;
};

}  // namespace railweave::fabric::infiniband
