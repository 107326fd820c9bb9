#include "fabric/drivers/infiniband/administration_server.h"

#include <algorithm>
#include <utility>

#include "fabric/drivers/infiniband/administration/administrator.h"

namespace railweave::fabric::infiniband {

namespace {

constexpr Milliseconds kAtMost{100};  // without looking whether the thread is to end
constexpr std::chrono::microseconds kAfterError{500'000};

}  // namespace

AdministrationServer::AdministrationServer(std::unique_ptr<AdministrationPort> port, std::uint64_t key,
                                           std::function<bool()> leads, const RmppOptions& options)
    : port_(std::move(port)),
      key_(key),
      leads_(std::move(leads)),
      sender_(options, [this](const SaClient& client, const Mad& mad) { send(client, mad); }) {
  worker_.start([this](Worker::Turn& turn) { serve(turn); });
}

void AdministrationServer::publish(AdministeredSubnetPtr subnet) {
  const std::lock_guard lock(mutex_);
  if (subnet == nullptr && subnet_ != nullptr) ++to_forget_;
  subnet_.swap(subnet);
}

AdministrationServer::Multicast AdministrationServer::multicast() const {
  const std::lock_guard lock(mutex_);
  return multicast_;
}

// Between requests, so that each is answered by one state of all.
void AdministrationServer::follow_subnet() {
  AdministeredSubnetPtr known;
  bool forgets = false;
  {
    const std::lock_guard lock(mutex_);
    known = subnet_;
    forgets = forgotten_ != to_forget_;
    forgotten_ = to_forget_;
  }
  if (forgets) {
    registrations_.multicast.clear();
    registrations_.services.clear();
  }
  if (known != nullptr && known != followed_) {
    registrations_.multicast.follow(*known);
    registrations_.services.follow(*known);
  }
  registrations_.now = Clock::now();
  followed_ = std::move(known);
  hand_out_members();
}

void AdministrationServer::hand_out_members() {
  const std::uint64_t revision = registrations_.multicast.revision();
  if (own_.multicast_revision == revision) return;
  own_.multicast_revision = revision;
  const auto members = registrations_.multicast.members();
  const std::lock_guard lock(mutex_);
  multicast_ = {.members = members, .revision = revision};
}

AdministrationCounts AdministrationServer::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

AdministeredSubnetPtr AdministrationServer::subnet() const {
  const std::lock_guard lock(mutex_);
  return subnet_;
}

void AdministrationServer::serve(Worker::Turn& turn) {
  while (!turn.is_to_end()) {
    const TimePoint now = Clock::now();
    Milliseconds wait = kAtMost;
    if (const auto due = sender_.next_due()) {
      wait = std::clamp(std::chrono::ceil<Milliseconds>(*due - now), Milliseconds(0), kAtMost);
    }
    const auto received = port_->receive(wait);
    if (!received) {
      // The connection of subnet management fails too, and is made again.
      if (!turn.pause(kAfterError)) return;
      continue;
    }
    follow_subnet();
    if (*received) take(**received);
    hand_out_members();
    sender_.expire(Clock::now());
    note_segments();
  }
}

void AdministrationServer::take(const AdministrationPort::Received& received) {
  const SaHeader header = read_sa_header(received.mad);
  const bool is_control = header.rmpp.version == RmppHeader::kVersion &&
                          (header.rmpp.flags & RmppHeader::kActive) != 0 && header.rmpp.type != RmppType::none &&
                          header.rmpp.type != RmppType::data;
  if (is_control) return sender_.take(received.client, header, Clock::now());
  ++own_.requests;
  if (leads_ && !leads_()) {
    ++own_.dropped;
    return;
  }
  // A receiver that asks again while it is being sent to has lost its patience, not its answer.
  if (sender_.is_under_way(received.client, header.transaction)) {
    ++own_.dropped;
    return;
  }
  SaAnswer answer = administer(followed_.get(), received.mad, received.client.lid, &registrations_);
  if (answer.kind == SaAnswer::Kind::table && !sender_.start(received.client, answer, Clock::now())) {
    answer = {.kind = SaAnswer::Kind::datagram, .header = answer.header};
    answer.header.status = static_cast<std::uint16_t>(SaStatus::busy);
  }
  own_.wrong_keys += answer.wrong_key ? 1 : 0;
  if (answer.kind == SaAnswer::Kind::dropped) {
    ++own_.dropped;
    return;
  }
  own_.answered += answer.status() == SaStatus::ok ? 1 : 0;
  own_.refused += answer.status() == SaStatus::ok ? 0 : 1;
  own_.records += answer.record_count;
  if (answer.kind == SaAnswer::Kind::datagram) send(received.client, to_mad(answer));
}

void AdministrationServer::send(const SaClient& client, const Mad& mad) {
  // Clients ask again, and segments are sent again.
  if (!port_->send(client, mad)) ++own_.send_errors;
}

void AdministrationServer::note_segments() {
  own_.segments = sender_.counts().segments;
  own_.repeated = sender_.counts().repeated;
  own_.given_up = sender_.counts().given_up;
  const std::lock_guard lock(mutex_);
  counts_ = own_;
}

}  // namespace railweave::fabric::infiniband
