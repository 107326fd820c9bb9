#include "fabric/drivers/infiniband/administration_server.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fabric/drivers/infiniband/administration/administrator.h"

namespace railweave::fabric::infiniband {

namespace {

constexpr Milliseconds kAtMost{100};       // without looking whether the thread is to end, and for traps
constexpr Milliseconds kBeforeRepeat{50};  // what is awaited is given up, so that it can be sent again as it was
constexpr std::size_t kMaxTraps = 1024;    // that wait to be forwarded; one more is not
constexpr std::chrono::microseconds kAfterError{500'000};

// As kAskedAttributes names them.
constexpr std::array<SaAttribute, kAskedAttributes.size() - 1> kAttributes = {
    SaAttribute::classPortInfo,
    SaAttribute::informInfo,
    SaAttribute::nodeRecord,
    SaAttribute::portInfoRecord,
    SaAttribute::slToVlRecord,
    SaAttribute::switchInfoRecord,
    SaAttribute::linearForwardingTableRecord,
    SaAttribute::multicastForwardingTableRecord,
    SaAttribute::smInfoRecord,
    SaAttribute::informInfoRecord,
    SaAttribute::linkRecord,
    SaAttribute::guidInfoRecord,
    SaAttribute::serviceRecord,
    SaAttribute::pkeyTableRecord,
    SaAttribute::pathRecord,
    SaAttribute::vlArbitrationRecord,
    SaAttribute::multicastMemberRecord,
    SaAttribute::multiPathRecord,
};

void count(AdministrationCounts& counts, std::uint16_t attribute, SaStatus status) {
  const auto* const at = std::ranges::find(kAttributes, static_cast<SaAttribute>(attribute));
  AskedCounts& asked = counts.asked[static_cast<std::size_t>(at - kAttributes.begin())];
  const bool is_unsupported =
      status == SaStatus::badAttribute || status == SaStatus::badMethod || status == SaStatus::badVersion;
  ++(status == SaStatus::ok ? asked.answered : is_unsupported ? asked.unsupported : asked.refused);
  ++(status == SaStatus::ok ? counts.answered : counts.refused);
}

}  // namespace

AdministrationServer::AdministrationServer(std::unique_ptr<AdministrationPort> port, std::uint64_t key,
                                           std::function<bool()> leads, const RmppOptions& options,
                                           const ReportOptions& reports)
    : port_(std::move(port)),
      key_(key),
      leads_(std::move(leads)),
      sender_(options, [this](const SaClient& client, const Mad& mad) { send(client, mad); }),
      reports_(reports, [this, within = std::max(reports.timeout - kBeforeRepeat, Milliseconds(1))](
                            const SaClient& client, const Mad& mad) { send(client, mad, within); }) {
  worker_.start([this](Worker::Turn& turn) { serve(turn); });
}

void AdministrationServer::publish(AdministeredSubnetPtr subnet) {
  const std::lock_guard lock(mutex_);
  if (subnet == nullptr && subnet_ != nullptr) ++to_forget_;
  subnet_.swap(subnet);
}

void AdministrationServer::publish(MulticastTablesPtr tables) {
  const std::lock_guard lock(mutex_);
  multicast_tables_.swap(tables);
}

AdministrationServer::Multicast AdministrationServer::multicast() const {
  const std::lock_guard lock(mutex_);
  return multicast_;
}

void AdministrationServer::forward(AttributeBytes trap, Lid source) {
  Trap one{.source = source};
  std::ranges::copy(trap, one.bytes.begin());
  const std::lock_guard lock(mutex_);
  if (traps_.size() < kMaxTraps) traps_.push_back(one);
}

// Between requests, so that each is answered by one state of all.
void AdministrationServer::follow_subnet() {
  AdministeredSubnetPtr known;
  bool forgets = false;
  {
    const std::lock_guard lock(mutex_);
    known = subnet_;
    registrations_.multicast_tables = multicast_tables_;
    forgets = forgotten_ != to_forget_;
    forgotten_ = to_forget_;
  }
  if (forgets) {
    registrations_.multicast.clear();
    registrations_.services.clear();
    registrations_.subscriptions.clear();
  }
  if (known != nullptr && known != followed_) {
    registrations_.multicast.follow(*known);
    registrations_.services.follow(*known);
    registrations_.subscriptions.follow(*known);
  }
  if (known != followed_) end_reports();
  registrations_.now = Clock::now();
  const AdministeredSubnetPtr before = std::exchange(followed_, std::move(known));
  if (before != nullptr && followed_ != nullptr && before != followed_ && registrations_.subscriptions.count() > 0) {
    for (const SubnetNotice& notice : port_changes(*before, *followed_)) report(notice);
  }
  hand_out_members();
}

void AdministrationServer::report(const SubnetNotice& notice) {
  if (leads_ && !leads_()) return;
  for (const SaClient& client : registrations_.subscriptions.subscribers(*followed_, notice)) {
    reports_.report(client, notice, Clock::now());
  }
}

// To those who have no subscription any more.
void AdministrationServer::end_reports() {
  reports_.keep_only([this](const SaClient& client) { return registrations_.subscriptions.has(client); });
}

void AdministrationServer::report_traps() {
  std::vector<Trap> traps;
  {
    const std::lock_guard lock(mutex_);
    traps.swap(traps_);
  }
  if (followed_ == nullptr) return;
  own_.traps += traps.size();
  for (const Trap& trap : traps) {
    if (const auto notice = forwarded(*followed_, trap.bytes, trap.source)) report(*notice);
  }
}

void AdministrationServer::report_groups() {
  for (const MulticastBook::Change& change : registrations_.multicast.take_changes()) {
    if (followed_ != nullptr) report(group_change(*followed_, change.mgid, change.key, change.is_created));
  }
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
    const auto received = port_->receive(wait_time());
    if (!received) {
      // The connection of subnet management fails too, and is made again.
      if (!turn.pause(kAfterError)) return;
      continue;
    }
    report_traps();  // by the snapshot that they came in
    follow_subnet();
    if (*received) take(**received);
    report_groups();
    hand_out_members();
    sender_.expire(Clock::now());
    if (!leads_ || leads_()) reports_.expire(Clock::now());
    note_sent();
  }
}

Milliseconds AdministrationServer::wait_time() const {
  const TimePoint now = Clock::now();
  Milliseconds wait = kAtMost;
  for (const auto& due : {sender_.next_due(), reports_.next_due()}) {
    if (due) wait = std::clamp(std::chrono::ceil<Milliseconds>(*due - now), Milliseconds(0), wait);
  }
  return wait;
}

void AdministrationServer::take(const AdministrationPort::Received& received) {
  const SaHeader header = read_sa_header(received.mad);
  const bool is_control = header.rmpp.version == RmppHeader::kVersion &&
                          (header.rmpp.flags & RmppHeader::kActive) != 0 && header.rmpp.type != RmppType::none &&
                          header.rmpp.type != RmppType::data;
  if (is_control) return sender_.take(received.client, header, Clock::now());
  if (header.method == kSaReportResponse) return reports_.take(received.client, header.transaction);
  ++own_.requests;
  if (leads_ && !leads_()) {
    ++own_.dropped;
    return;
  }
  if (header.method == static_cast<std::uint8_t>(SaMethod::getMulti) && header.rmpp.type == RmppType::data) {
    send(received.client, acknowledgement(header));
  }
  // A receiver that asks again while it is being sent to has lost its patience, not its answer.
  if (sender_.is_under_way(received.client, header.transaction)) {
    ++own_.dropped;
    return;
  }
  SaAnswer answer = administer(followed_.get(), received.mad, received.client, &registrations_);
  if (header.attribute == static_cast<std::uint16_t>(SaAttribute::informInfo)) end_reports();
  if (answer.kind == SaAnswer::Kind::table && !sender_.start(received.client, answer, Clock::now())) {
    answer = {.kind = SaAnswer::Kind::datagram, .header = answer.header};
    answer.header.status = static_cast<std::uint16_t>(SaStatus::busy);
  }
  own_.wrong_keys += answer.wrong_key ? 1 : 0;
  if (answer.kind == SaAnswer::Kind::dropped) {
    ++own_.dropped;
    return;
  }
  count(own_, header.attribute, answer.status());
  own_.records += answer.record_count;
  if (answer.kind == SaAnswer::Kind::datagram) send(received.client, to_mad(answer));
}

void AdministrationServer::send(const SaClient& client, const Mad& mad, Milliseconds answer_within) {
  // Clients ask again, and segments and reports are sent again.
  if (!port_->send(client, mad, answer_within)) ++own_.send_errors;
}

void AdministrationServer::note_sent() {
  own_.segments = sender_.counts().segments;
  own_.repeated = sender_.counts().repeated;
  own_.given_up = sender_.counts().given_up;
  own_.subscriptions = registrations_.subscriptions.count();
  own_.reports = reports_.counts().reports;
  own_.reports_repeated = reports_.counts().repeated;
  own_.reports_answered = reports_.counts().answered;
  own_.reports_given_up = reports_.counts().given_up;
  const std::lock_guard lock(mutex_);
  counts_ = own_;
}

}  // namespace railweave::fabric::infiniband
