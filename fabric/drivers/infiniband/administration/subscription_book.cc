#include "fabric/drivers/infiniband/administration/subscription_book.h"

#include <algorithm>

namespace railweave::fabric::infiniband {
namespace {

constexpr std::size_t kRecordInfo = 24;  // behind the subscriber's GID and number
constexpr std::uint64_t kGidGiven = 1, kNumberGiven = 2;

// Ports whose notices are asked for are such as the subscriber may see; any port is asked for without naming one.
bool may_ask_for(const Requester& requester, const InformInfo& what) {
  const AdministeredSubnet& subnet = requester.subnet;
  if (what.names_port()) {
    const std::uint32_t at = what.gid_prefix == subnet.gid_prefix() ? subnet.find(what.gid) : AdministeredSubnet::kNone;
    return at != AdministeredSubnet::kNone && requester.sees(subnet.end_ports()[at]);
  }
  if (what.first_lid == InformInfo::kAny) return true;
  const std::size_t last = what.last_lid == 0 ? what.first_lid : what.last_lid;
  if (last < what.first_lid || last > subnet.top_lid()) return false;
  for (std::size_t lid = what.first_lid; lid <= last; ++lid) {
    const std::uint32_t at = subnet.find(static_cast<Lid>(lid));
    if (at != AdministeredSubnet::kNone && !requester.sees(subnet.end_ports()[at])) return false;
  }
  return true;
}

bool is_same_subject(const InformInfo& a, const InformInfo& b) {
  const bool same_ports = a.names_port() || b.names_port() ? a.gid_prefix == b.gid_prefix && a.gid == b.gid
                                                           : a.first_lid == b.first_lid && a.last_lid == b.last_lid;
  return same_ports && a.is_generic == b.is_generic && a.type == b.type && a.trap == b.trap &&
         a.producer == b.producer && a.queue_pair == b.queue_pair;
}

}  // namespace

SaAnswer SubscriptionBook::answer_set(const Requester& requester, const Mad& request, SaAnswer answer) {
  const InformInfo asked = read_inform_info(sa_data(request));
  if (requester.port == nullptr || asked.subscribe > 1) return refuse(std::move(answer), SaStatus::invalidRequest);
  Subscription wanted{
      .what = asked, .client = requester.client, .port = requester.port->guid, .is_trusted = requester.is_trusted};
  if (asked.subscribe == 1) wanted.what.queue_pair = requester.client.queue_pair;
  const auto found = std::ranges::find_if(subscriptions_, [&](const Subscription& one) {
    return one.client.lid == wanted.client.lid && one.client.queue_pair == wanted.client.queue_pair &&
           is_same_subject(one.what, wanted.what);
  });
  if (asked.subscribe == 0) {
    if (found == subscriptions_.end()) return refuse(std::move(answer), SaStatus::invalidRequest);
    subscriptions_.erase(found);
  } else if (!may_ask_for(requester, asked)) {
    return refuse(std::move(answer), SaStatus::invalidRequest);
  } else if (found != subscriptions_.end()) {
    *found = wanted;
  } else {
    const auto own = std::ranges::count(subscriptions_, wanted.port, &Subscription::port);
    if (subscriptions_.size() >= bounds_.subscriptions || static_cast<std::size_t>(own) >= bounds_.of_port) {
      return refuse(std::move(answer), SaStatus::noResources);
    }
    subscriptions_.push_back(wanted);
  }
  const auto said = sa_data(request).first(InformInfo::kBytes);  // what was asked confirms it
  answer.records.assign(said.begin(), said.end());
  answer.record_count = 1;
  return answer;
}

// Numbers are all 0: a subscription is told apart by what it is about.
SaAnswer SubscriptionBook::answer_get(const Requester& requester, const Mad& request, SaAnswer answer,
                                      std::size_t at_most) const {
  const std::uint64_t mask = answer.header.component_mask;
  const AdministeredSubnet& subnet = requester.subnet;
  const auto asked = sa_data(request);
  for (const Subscription& one : subscriptions_) {
    if (answer.record_count >= at_most) break;
    if ((mask & kGidGiven) != 0 && (read_64(asked, 0) != subnet.gid_prefix() || Guid(read_64(asked, 8)) != one.port)) {
      continue;
    }
    if ((mask & kNumberGiven) != 0 && read_16(asked, 16) != 0) continue;
    const std::uint32_t at = subnet.find(one.port);
    if (at == AdministeredSubnet::kNone || !requester.sees(subnet.end_ports()[at])) continue;
    const std::size_t begin = answer.records.size();
    answer.records.resize(begin + InformInfo::kRecordBytes);
    const auto record = std::span(answer.records).subspan(begin);
    write_be(record, 0, 8, subnet.gid_prefix());
    write_be(record, 8, 8, one.port.value());
    write_inform_info(record.subspan(kRecordInfo), one.what);
    ++answer.record_count;
  }
  return answer;
}

bool SubscriptionBook::is_about(const InformInfo& what, const SubnetNotice& notice) {
  if (what.names_port()) {
    if (what.gid_prefix != notice.issuer_prefix() || what.gid != notice.issuer()) return false;
  } else if (what.first_lid != InformInfo::kAny) {
    const Lid last = what.last_lid == 0 ? what.first_lid : what.last_lid;
    if (notice.issuer_lid() < what.first_lid || notice.issuer_lid() > last) return false;
  }
  return what.is_generic == notice.is_generic() && (what.type == InformInfo::kAny || what.type == notice.type()) &&
         (what.trap == InformInfo::kAny || what.trap == notice.trap()) &&
         (what.producer == InformInfo::kAnyProducer || what.producer == notice.producer());
}

std::vector<SaClient> SubscriptionBook::subscribers(const AdministeredSubnet& subnet,
                                                    const SubnetNotice& notice) const {
  std::vector<SaClient> found;
  for (const Subscription& one : subscriptions_) {
    if (!is_about(one.what, notice)) continue;
    const std::uint32_t at = subnet.find(one.port);
    if (at == AdministeredSubnet::kNone) continue;
    if (one.is_trusted || share_key(subnet.keys(subnet.end_ports()[at]), notice.keys)) found.push_back(one.client);
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

bool SubscriptionBook::has(const SaClient& client) const {
  return std::ranges::find(subscriptions_, client, &Subscription::client) != subscriptions_.end();
}

void SubscriptionBook::follow(const AdministeredSubnet& subnet) {
  std::erase_if(subscriptions_, [&](const Subscription& one) {
    const std::uint32_t at = subnet.find(one.client.lid);
    return !subnet.is_attached(one.port) || at == AdministeredSubnet::kNone || subnet.end_ports()[at].guid != one.port;
  });
}

}  // namespace railweave::fabric::infiniband
