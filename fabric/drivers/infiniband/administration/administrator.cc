#include "fabric/drivers/infiniband/administration/administrator.h"

#include <algorithm>
#include <array>

#include "fabric/drivers/infiniband/administration/multi_path_records.h"
#include "fabric/drivers/infiniband/administration/multicast_requests.h"
#include "fabric/drivers/infiniband/administration/path_records.h"
#include "fabric/drivers/infiniband/administration/record_fields.h"
#include "fabric/drivers/infiniband/administration/records.h"
#include "fabric/drivers/infiniband/administration/requester.h"

namespace railweave::fabric::infiniband {
namespace {

using EndPort = AdministeredSubnet::EndPort;
constexpr std::uint32_t kNone = AdministeredSubnet::kNone;
constexpr std::uint32_t kMatchAllBits = 0x80000000;  // of a modifier: capability masks have all these bits

bool is_known(SaAttribute attribute) { return record_bytes(attribute) != 0; }

// The administration itself: versions, and what it answers beyond the least that is asked of one.
void write_class_port_info(std::vector<std::uint8_t>& record, bool registers) {
  constexpr std::uint32_t kAnswersWithin = 18;  // 4.096 us * 2^18
  constexpr std::uint32_t kOptionalRecords = 0x0100, kMulticast = 0x0200, kMultiPath = 0x0400,
                          kMatchesCapabilities = 0x2000;
  constexpr std::uint32_t kFullSendOnly = 1U << 12U;  // of the second mask, which lies above the response time
  record.assign(record_bytes(SaAttribute::classPortInfo), 0);
  record[0] = 1;
  record[1] = 2;
  write_be(record, 2, 2, kOptionalRecords | kMultiPath | kMatchesCapabilities | (registers ? kMulticast : 0));
  write_be(record, 4, 4, (registers ? kFullSendOnly << 5U : 0) | kAnswersWithin);
}

// What clients register or end.
SaAnswer take_registration(const Requester& requester, const Mad& request, SaMethod method, const SaAnswer& answer,
                           Registrations& registrations) {
  if (answer.header.attribute == static_cast<std::uint16_t>(SaAttribute::informInfo)) {
    return registrations.subscriptions.answer_set(requester, request, answer);
  }
  ServiceBook& services = registrations.services;
  if (answer.header.attribute == static_cast<std::uint16_t>(SaAttribute::serviceRecord)) {
    return method == SaMethod::set ? services.answer_set(requester, request, answer, registrations.now)
                                   : services.answer_remove(requester, request, answer, registrations.now);
  }
  if (method == SaMethod::set) return answer_join(requester, request, answer, registrations.multicast);
  return answer_leave(requester, request, answer, registrations.multicast);
}

// What clients registered or may register.
bool is_of_registrations(SaAttribute attribute) {
  return attribute == SaAttribute::multicastMemberRecord || attribute == SaAttribute::serviceRecord ||
         attribute == SaAttribute::informInfo || attribute == SaAttribute::informInfoRecord;
}

bool may_be_asked(SaMethod method, SaAttribute attribute) {
  switch (method) {
    case SaMethod::get:
      return attribute != SaAttribute::informInfo && attribute != SaAttribute::multiPathRecord;
    case SaMethod::getTable:
      return attribute != SaAttribute::classPortInfo && may_be_asked(SaMethod::get, attribute);
    case SaMethod::getMulti:
      return attribute == SaAttribute::multiPathRecord;
    case SaMethod::set:
      return is_of_registrations(attribute) && attribute != SaAttribute::informInfoRecord;
    case SaMethod::remove:
      return attribute == SaAttribute::multicastMemberRecord || attribute == SaAttribute::serviceRecord;
    case SaMethod::report:
      break;
  }
  return false;
}

// End ports that a request names by GID or by LID; all, where it names none.
struct Ends {
  std::vector<std::uint32_t> ports;
  SaStatus status = SaStatus::ok;
};
Ends named(const AdministeredSubnet& subnet, bool by_guid, std::uint64_t prefix, Guid guid, bool by_lid, Lid lid) {
  if (!by_guid && !by_lid) {
    Ends all;
    for (std::uint32_t i = 0; i < subnet.end_ports().size(); ++i) all.ports.push_back(i);
    return all;
  }
  std::uint32_t found = kNone;
  if (by_guid) {
    found = prefix == subnet.gid_prefix() ? subnet.find(guid) : kNone;
    const bool is_multicast = prefix >> 56U == 0xff;
    if (found == kNone) return {{}, is_multicast ? SaStatus::noRecords : SaStatus::invalidGid};
  }
  if (by_lid) {
    const std::uint32_t at = subnet.find(lid);
    if (at == kNone || (by_guid && at != found)) return {{}, SaStatus::noRecords};
    found = at;
  }
  return {{found}, SaStatus::ok};
}

SaAnswer answer_paths(const Requester& requester, const Mad& request, SaAnswer answer, bool is_table) {
  constexpr unsigned kTargetGid = 2, kSourceGid = 3, kTargetLid = 4, kSourceLid = 5;
  const AdministeredSubnet& subnet = requester.subnet;
  const PathQuery query = read_path_query(answer.header.component_mask, sa_data(request));
  const Ends from = named(subnet, query.asks(kSourceGid), query.source_prefix, query.source_guid,
                          query.asks(kSourceLid), query.source_lid);
  const Ends to = named(subnet, query.asks(kTargetGid), query.target_prefix, query.target_guid, query.asks(kTargetLid),
                        query.target_lid);
  for (const Ends* ends : {&from, &to}) {
    if (ends->status != SaStatus::ok) return refuse(std::move(answer), ends->status);
  }
  // A Get is about one pair: with only one end named, all paths of it would have to be looked at to say that they are too many.
  if (!is_table && (from.ports.size() > 1 || to.ports.size() > 1)) {
    return refuse(std::move(answer), SaStatus::lacksComponents);
  }
  // Before any is looked at: a question costs its sender nothing.
  if (from.ports.size() * to.ports.size() > (requester.is_trusted ? kMaxTrustedPairs : kMaxPairs)) {
    return refuse(std::move(answer), SaStatus::noResources);
  }
  const std::size_t at_most = is_table ? kMaxAnswerBytes / kPathRecordBytes + 1 : 1;
  std::vector<Path> paths;
  for (const std::uint32_t a : from.ports) {
    if (!requester.sees(subnet.end_ports()[a])) continue;
    for (const std::uint32_t b : to.ports) {
      if (!requester.sees(subnet.end_ports()[b])) continue;
      add_paths(subnet, query, a, b, at_most - paths.size(), paths);
      if (paths.size() >= at_most) break;
    }
    if (paths.size() >= at_most) break;
  }
  if (is_table && paths.size() == at_most) return refuse(std::move(answer), SaStatus::noResources);
  answer.record_count = paths.size();
  answer.records = write_paths(subnet, paths);
  return answer;
}

SaAnswer answer_records(const Requester& requester, const Mad& request, SaAnswer answer, bool is_table,
                        const MulticastTables* multicast) {
  const auto attribute = static_cast<SaAttribute>(answer.header.attribute);
  const auto wanted = sa_data(request);
  const std::uint64_t mask = answer.header.component_mask;
  const bool all_bits = (answer.header.modifier & kMatchAllBits) != 0;
  const std::size_t at_most = is_table ? kMaxAnswerBytes / record_bytes(attribute) + 1 : 2;
  RecordScope scope{.is_visible = [&](const EndPort& port) { return requester.sees(port); },
                    .is_own = [&](const EndPort& port) { return requester.owns(port); },
                    .lid = {},
                    .multicast = multicast};
  if ((mask & 1U) != 0) scope.lid = read_16(wanted, 0);
  list_records(requester.subnet, attribute, scope, [&](std::span<const std::uint8_t> record) {
    if (!has_components(attribute, record, wanted, mask, all_bits)) return true;
    answer.records.insert(answer.records.end(), record.begin(), record.end());
    return ++answer.record_count < at_most;
  });
  if (is_table && answer.record_count == at_most) return refuse(std::move(answer), SaStatus::noResources);
  return answer;
}

SaAnswer answer_registered(const Requester& requester, const Mad& request, SaAnswer answer, bool is_table,
                           const SaAttribute attribute, Registrations& registrations) {
  const std::size_t at_most = is_table ? kMaxAnswerBytes / record_bytes(attribute) + 1 : 2;
  if (attribute == SaAttribute::serviceRecord) {
    answer = registrations.services.answer_get(requester, request, std::move(answer), registrations.now, at_most);
  } else if (attribute == SaAttribute::informInfoRecord) {
    answer = registrations.subscriptions.answer_get(requester, request, std::move(answer), at_most);
  } else {
    answer = answer_groups(requester, request, std::move(answer), registrations.multicast, at_most);
  }
  if (is_table && answer.record_count == at_most) return refuse(std::move(answer), SaStatus::noResources);
  return answer;
}

}  // namespace

SaAnswer administer(const AdministeredSubnet* subnet, const Mad& request, const SaClient& client,
                    Registrations* registrations) {
  SaAnswer answer;
  answer.header = read_sa_header(request);
  SaHeader& header = answer.header;
  if (read_8(request, 1) != static_cast<std::uint8_t>(MadClass::subnetAdministration)) return answer;
  if ((header.method & kSaResponseBit) != 0) return answer;
  const auto method = static_cast<SaMethod>(header.method);
  const auto attribute = static_cast<SaAttribute>(header.attribute);
  const std::uint64_t key = header.key;
  header.method = method == SaMethod::set ? kSaGetResponse : static_cast<std::uint8_t>(header.method | kSaResponseBit);
  header.rmpp = {};
  header.status = 0;
  header.key = 0;
  header.record_offset = 0;
  if (header.base_version != 1 || header.class_version != 2) {
    header.base_version = 1;
    header.class_version = 2;
    return refuse(std::move(answer), SaStatus::badVersion);
  }
  if (subnet == nullptr) return refuse(std::move(answer), SaStatus::busy);
  const bool is_trusted = key != 0 && key == subnet->manager().key;
  if (key != 0 && !is_trusted) {
    answer.wrong_key = true;  // and no answer, which would help to guess
    return answer;
  }
  const bool is_table = method == SaMethod::getTable || method == SaMethod::getMulti;
  const bool registers = method == SaMethod::set || method == SaMethod::remove;
  if (method != SaMethod::get && !is_table && !registers) return refuse(std::move(answer), SaStatus::badMethod);
  const bool is_registered = is_of_registrations(attribute);
  if (!is_known(attribute) || (is_registered && registrations == nullptr)) {
    return refuse(std::move(answer), SaStatus::badAttribute);
  }
  if (!may_be_asked(method, attribute)) {
    return refuse(std::move(answer), registers ? SaStatus::badMethod : SaStatus::badAttribute);
  }
  answer.kind = is_table ? SaAnswer::Kind::table : SaAnswer::Kind::datagram;
  if (attribute == SaAttribute::classPortInfo) {
    write_class_port_info(answer.records, registrations != nullptr);
    answer.record_count = 1;
    return answer;
  }
  Requester requester{.subnet = *subnet, .is_trusted = is_trusted, .client = client};
  if (const std::uint32_t at = subnet->find(client.lid); at != kNone) requester.port = &subnet->end_ports()[at];
  if (requester.port == nullptr && !is_trusted) return refuse(std::move(answer), SaStatus::invalidRequest);
  header.record_offset = static_cast<std::uint16_t>(record_bytes(attribute) / 8);
  if (registers) return take_registration(requester, request, method, answer, *registrations);
  if (attribute == SaAttribute::multiPathRecord) {
    answer = answer_multi_paths(requester, request, std::move(answer));
  } else if (attribute == SaAttribute::pathRecord && registrations != nullptr &&
             is_path_to_group(request, header.component_mask)) {
    answer = answer_group_path(requester, request, std::move(answer), registrations->multicast);
  } else if (attribute == SaAttribute::pathRecord) {
    answer = answer_paths(requester, request, std::move(answer), is_table);
  } else if (is_registered) {
    answer = answer_registered(requester, request, std::move(answer), is_table, attribute, *registrations);
  } else {
    const MulticastTables* const tables = registrations == nullptr ? nullptr : registrations->multicast_tables.get();
    answer = answer_records(requester, request, std::move(answer), is_table, tables);
  }
  if (is_table || answer.status() != SaStatus::ok) return answer;
  if (answer.record_count == 0) return refuse(std::move(answer), SaStatus::noRecords);
  if (answer.record_count > 1) return refuse(std::move(answer), SaStatus::tooManyRecords);
  return answer;
}

Mad to_mad(const SaAnswer& answer) {
  Mad mad{};
  write_sa_header(mad, answer.header);
  std::copy_n(answer.records.begin(), std::min(answer.records.size(), kSaDataBytes), sa_space(mad).begin());
  return mad;
}

}  // namespace railweave::fabric::infiniband
