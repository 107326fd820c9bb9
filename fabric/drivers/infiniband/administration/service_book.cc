#include "fabric/drivers/infiniband/administration/service_book.h"

#include <algorithm>

#include "fabric/drivers/infiniband/administration/record_fields.h"

namespace railweave::fabric::infiniband {
namespace {

constexpr std::size_t kPartition = 24, kLease = 28, kServiceKey = 32, kServiceKeyBytes = 16;
constexpr std::size_t kIdentityBytes = 26;  // ID, GID and partition
constexpr unsigned kIdGiven = 0, kKeyGiven = 5, kNameGiven = 6;
constexpr std::uint32_t kForever = 0xffffffff;

bool gives(std::uint64_t mask, unsigned bit) { return (mask >> bit & 1U) != 0; }

bool is_asked_for(std::span<const std::uint8_t> record, const Mad& request, std::uint64_t mask) {
  return has_components(SaAttribute::serviceRecord, record, sa_data(request), mask, false);
}

}  // namespace

bool ServiceBook::may_see(const Requester& requester, const Service& service) {
  const std::uint16_t key = read_16(service.record, kPartition);
  return key == 0 || requester.has_key(key) || may_change(requester, service);
}

bool ServiceBook::may_change(const Requester& requester, const Service& service) {
  return requester.is_trusted || (requester.port != nullptr && requester.port->guid == service.owner);
}

void ServiceBook::expire(TimePoint now) {
  std::erase_if(services_, [now](const Service& one) { return one.ends && one.end <= now; });
}

void ServiceBook::follow(const AdministeredSubnet& subnet) {
  std::erase_if(services_, [&](const Service& one) { return !subnet.is_attached(one.owner); });
}

// What is left of its lease; its key only to the trusted.
void ServiceBook::give(const Requester& requester, const Service& service, TimePoint now, SaAnswer& answer) {
  auto record = service.record;
  if (service.ends) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(service.end - now).count();
    write_be(record, kLease, 4, static_cast<std::uint64_t>(left));
  }
  if (!requester.is_trusted) std::fill_n(record.begin() + kServiceKey, kServiceKeyBytes, std::uint8_t{0});
  answer.records.insert(answer.records.end(), record.begin(), record.end());
  ++answer.record_count;
}

SaAnswer ServiceBook::answer_set(const Requester& requester, const Mad& request, SaAnswer answer, TimePoint now) {
  expire(now);
  const std::uint64_t mask = answer.header.component_mask;
  Service service;
  std::copy_n(sa_data(request).begin(), kRecordBytes, service.record.begin());
  const std::uint16_t key = read_16(service.record, kPartition);
  const std::uint32_t lease = read_32(service.record, kLease);
  if (!gives(mask, kIdGiven) && !gives(mask, kNameGiven)) return refuse(std::move(answer), SaStatus::lacksComponents);
  if (requester.port == nullptr || lease == 0 || (key != 0 && !requester.has_key(key))) {
    return refuse(std::move(answer), SaStatus::invalidRequest);
  }
  if (!gives(mask, kKeyGiven)) std::fill_n(service.record.begin() + kServiceKey, kServiceKeyBytes, std::uint8_t{0});
  service.owner = requester.port->guid;
  service.ends = lease != kForever;
  service.end = now + std::chrono::seconds(service.ends ? lease : 0);
  const auto same = std::ranges::find_if(services_, [&](const Service& one) {
    return std::equal(one.record.begin(), one.record.begin() + kIdentityBytes, service.record.begin());
  });
  if (same != services_.end()) {
    if (!may_change(requester, *same)) return refuse(std::move(answer), SaStatus::invalidRequest);
    *same = service;
  } else {
    const auto own = std::ranges::count(services_, service.owner, &Service::owner);
    if (services_.size() >= bounds_.services || static_cast<std::size_t>(own) >= bounds_.services_of_port) {
      return refuse(std::move(answer), SaStatus::noResources);
    }
    services_.push_back(service);
  }
  give(requester, service, now, answer);
  return answer;
}

SaAnswer ServiceBook::answer_remove(const Requester& requester, const Mad& request, SaAnswer answer, TimePoint now) {
  expire(now);
  const std::uint64_t mask = answer.header.component_mask;
  if (!gives(mask, kIdGiven) && !gives(mask, kNameGiven)) return refuse(std::move(answer), SaStatus::lacksComponents);
  const auto is_meant = [&](const Service& one) {
    return may_change(requester, one) && is_asked_for(one.record, request, mask);
  };
  const auto found = std::ranges::find_if(services_, is_meant);
  if (found == services_.end()) return refuse(std::move(answer), SaStatus::noRecords);
  if (std::find_if(std::next(found), services_.end(), is_meant) != services_.end()) {
    return refuse(std::move(answer), SaStatus::tooManyRecords);
  }
  give(requester, *found, now, answer);
  services_.erase(found);
  return answer;
}

SaAnswer ServiceBook::answer_get(const Requester& requester, const Mad& request, SaAnswer answer, TimePoint now,
                                 std::size_t at_most) {
  expire(now);
  for (const Service& one : services_) {
    if (answer.record_count >= at_most) break;
    if (may_see(requester, one) && is_asked_for(one.record, request, answer.header.component_mask)) {
      give(requester, one, now, answer);
    }
  }
  return answer;
}

}  // namespace railweave::fabric::infiniband
