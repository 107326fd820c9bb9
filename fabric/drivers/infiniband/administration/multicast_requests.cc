#include "fabric/drivers/infiniband/administration/multicast_requests.h"

#include <algorithm>
#include <optional>

#include "fabric/drivers/infiniband/administration/path_records.h"

namespace railweave::fabric::infiniband {
namespace {

using EndPort = AdministeredSubnet::EndPort;
using Terms = MulticastRecord;
enum Selector : std::uint8_t { moreThan, lessThan, exactly, largest };

constexpr std::uint8_t kUsualMtu = 4, kUsualRate = 3, kUsualLife = 18;  // 2048 bytes, 10 Gb/s, 1.07 s
constexpr std::uint8_t kMaxMtu = 5, kMaxRate = 24, kMaxLife = 19;

constexpr std::uint64_t bit(Terms::Component component) { return std::uint64_t{1} << component; }
constexpr std::uint64_t kToJoin = bit(Terms::mgidGiven) | bit(Terms::portGiven) | bit(Terms::joinStateGiven);
constexpr std::uint64_t kToCreate = kToJoin | bit(Terms::queueKeyGiven) | bit(Terms::trafficClassGiven) |
                                    bit(Terms::keyGiven) | bit(Terms::levelGiven) | bit(Terms::flowLabelGiven);

struct Ask {
  Terms record;
  std::uint64_t mask = 0;
  [[nodiscard]] bool gives(Terms::Component component) const { return (mask & bit(component)) != 0; }
};

std::uint8_t scope_of(const Mgid& mgid) { return mgid[1] & 0x0fU; }

// Flags beyond "transient" mean something else; GIDs that the administration gives itself are not for others to take.
bool may_be_asked_for(const Mgid& mgid) {
  constexpr std::uint16_t kOwn = 0xa01b;
  if (mgid[0] != 0xff || (mgid[1] & 0xe0U) != 0) return false;
  const std::uint8_t scope = scope_of(mgid);
  return scope != 0 && (read_16(mgid, 2) != kOwn || scope != kLinkLocalScope);
}

// By how much one is more than the other, in what codes of MTU, rate and life stand for.
using Worth = std::uint64_t (*)(std::uint8_t code);
std::uint64_t as_number(std::uint8_t code) { return code; }
std::uint64_t as_rate(std::uint8_t code) { return static_cast<std::uint64_t>(nominal_rate(code).value()); }

// The code that a new group gets, of those up to `top` that are worth no more than `bound`. None: there is none.
std::optional<std::uint8_t> choose(Selector selector, std::uint8_t asked, Worth worth, std::uint8_t top,
                                   std::uint64_t bound) {
  std::optional<std::uint8_t> best;
  for (unsigned code = 1; code <= top; ++code) {
    const auto one = static_cast<std::uint8_t>(code);
    if (worth(one) == 0 || worth(one) > bound) continue;
    const bool fits = selector == largest || (selector == moreThan && worth(one) > worth(asked)) ||
                      (selector == lessThan && worth(one) < worth(asked)) || (selector == exactly && one == asked);
    if (!fits) continue;
    const bool takes_least = selector == moreThan;
    if (!best || (takes_least ? worth(one) < worth(*best) : worth(one) > worth(*best))) best = one;
  }
  return best;
}

bool is_as_asked(std::uint8_t selector, std::uint8_t asked, std::uint8_t is, Worth worth) {
  switch (selector) {
    case moreThan:
      return worth(is) > worth(asked);
    case lessThan:
      return worth(is) < worth(asked);
    case exactly:
      return is == asked;
    default:
      return true;
  }
}

// Scope is a part of the GID, and not asked about beside it.
bool are_terms_as_asked(const Ask& ask, const Terms& terms) {
  constexpr std::uint16_t kBase = 0x7fff;
  const Terms& asked = ask.record;
  const auto same = [&](Terms::Component component, auto is, auto wanted) {
    return !ask.gives(component) || is == wanted;
  };
  const bool mtu = ask.gives(Terms::mtuGiven) && ask.gives(Terms::mtuSelectorGiven);
  const bool rate = ask.gives(Terms::rateGiven) && ask.gives(Terms::rateSelectorGiven);
  const bool life = ask.gives(Terms::lifeGiven) && ask.gives(Terms::lifeSelectorGiven);
  return same(Terms::queueKeyGiven, terms.queue_key, asked.queue_key) &&
         same(Terms::trafficClassGiven, terms.traffic_class, asked.traffic_class) &&
         same(Terms::keyGiven, terms.key & kBase, asked.key & kBase) &&
         same(Terms::levelGiven, terms.level, asked.level) &&
         same(Terms::flowLabelGiven, terms.flow_label, asked.flow_label) &&
         same(Terms::hopLimitGiven, terms.hop_limit, asked.hop_limit) &&
         (!mtu || is_as_asked(asked.mtu_selector, asked.mtu, terms.mtu, as_number)) &&
         (!rate || is_as_asked(asked.rate_selector, asked.rate, terms.rate, as_rate)) &&
         (!life || is_as_asked(asked.life_selector, asked.life, terms.life, as_number));
}

// None: the port cannot have what is asked for.
std::optional<Terms> new_terms(const Ask& ask, PortPace pace, MulticastBook& book, std::uint64_t gid_prefix) {
  Terms terms = ask.record;
  const bool is_named = terms.mgid != Mgid{};
  if (is_named && !may_be_asked_for(terms.mgid)) return std::nullopt;
  const bool mtu_asked = ask.gives(Terms::mtuGiven) && ask.gives(Terms::mtuSelectorGiven);
  const bool rate_asked = ask.gives(Terms::rateGiven) && ask.gives(Terms::rateSelectorGiven);
  const bool life_asked = ask.gives(Terms::lifeGiven) && ask.gives(Terms::lifeSelectorGiven);
  const std::uint64_t fastest = as_rate(pace.rate);
  const auto usual_mtu = std::min(kUsualMtu, pace.mtu);
  const auto mtu = mtu_asked
                       ? choose(static_cast<Selector>(terms.mtu_selector), terms.mtu, as_number, kMaxMtu, pace.mtu)
                       : std::optional(usual_mtu);
  const auto rate = rate_asked
                        ? choose(static_cast<Selector>(terms.rate_selector), terms.rate, as_rate, kMaxRate, fastest)
                        : choose(largest, 0, as_rate, kMaxRate, std::min(fastest, as_rate(kUsualRate)));
  // The largest life is no better than the usual one: it is how long a packet may wait.
  const bool life_chosen = life_asked && terms.life_selector != largest;
  const auto life = life_chosen
                        ? choose(static_cast<Selector>(terms.life_selector), terms.life, as_number, kMaxLife, kMaxLife)
                        : std::optional(kUsualLife);
  if (!mtu || *mtu == 0 || !rate || !life) return std::nullopt;
  if (!is_named) terms.mgid = book.own_mgid(ask.gives(Terms::scopeGiven) ? terms.scope : std::uint8_t{0}, gid_prefix);
  terms.scope = scope_of(terms.mgid);
  terms.mtu = *mtu;
  terms.rate = *rate;
  terms.life = *life;
  terms.mtu_selector = terms.rate_selector = terms.life_selector = exactly;
  if (!ask.gives(Terms::hopLimitGiven)) terms.hop_limit = 0;
  terms.port_prefix = 0;
  terms.port = {};
  terms.join_state = 0;
  terms.by_proxy = false;
  return terms;
}

constexpr std::uint32_t kNoPort = AdministeredSubnet::kNone;
// Bits of PathRecord's mask, and where its target is.
constexpr unsigned kPathTargetGid = 2, kPathSourceGid = 3, kPathTargetLid = 4, kPathSourceLid = 5,
                   kPathTrafficClass = 10, kPathKey = 13, kPathLevel = 15;
constexpr std::size_t kPathTargetGidAt = 8;

void write_group_path(std::span<std::uint8_t> record, const Terms& terms) {
  constexpr unsigned kMaxHops = 255;
  const bool stays = terms.scope == kLinkLocalScope;
  std::ranges::copy(terms.mgid, record.begin() + kPathTargetGidAt);
  write_be(record, 40, 2, terms.lid);
  write_be(record, 44, 4, terms.flow_label << 8U | (stays ? terms.hop_limit : kMaxHops));
  write_be(record, 48, 1, terms.traffic_class);
  write_be(record, 49, 1, 1);  // one path
  write_be(record, 50, 2, terms.key);
  write_be(record, 52, 2, terms.level);
  write_be(record, 54, 1, unsigned{exactly} << 6U | terms.mtu);
  write_be(record, 55, 1, unsigned{exactly} << 6U | terms.rate);
  write_be(record, 56, 1, unsigned{exactly} << 6U | terms.life);
}

void give(SaAnswer& answer, const Terms& terms, std::uint64_t gid_prefix, Guid port, std::uint8_t join_state,
          bool by_proxy) {
  Terms record = terms;
  record.port_prefix = port.known() ? gid_prefix : 0;
  record.port = port;
  record.join_state = join_state;
  record.by_proxy = by_proxy;
  const std::size_t at = answer.records.size();
  answer.records.resize(at + kMulticastRecordBytes);
  write_multicast_record(
      std::span<std::uint8_t, kMulticastRecordBytes>(answer.records.data() + at, kMulticastRecordBytes), record);
  ++answer.record_count;
}

Ask read(const Mad& request, const SaAnswer& answer) {
  return {read_multicast_record(sa_data(request)), answer.header.component_mask};
}

const EndPort* port_of(const AdministeredSubnet& subnet, const Terms& record) {
  const std::uint32_t at =
      record.port_prefix == subnet.gid_prefix() ? subnet.find(record.port) : AdministeredSubnet::kNone;
  return at == AdministeredSubnet::kNone ? nullptr : &subnet.end_ports()[at];
}

// The group's packets are such as the port can take, and whoever asks is in its partition as well.
bool may_join(const Requester& requester, const EndPort& port, const Terms& terms) {
  const PortPace pace = requester.subnet.pace(port);
  return requester.subnet.has_key(port, terms.key) && requester.has_key(terms.key) && terms.mtu <= pace.mtu &&
         as_rate(terms.rate) <= as_rate(pace.rate);
}

}  // namespace

SaAnswer answer_join(const Requester& requester, const Mad& request, SaAnswer answer, MulticastBook& book) {
  const Ask ask = read(request, answer);
  if ((ask.mask & kToJoin) != kToJoin) return refuse(std::move(answer), SaStatus::lacksComponents);
  const EndPort* const port = port_of(requester.subnet, ask.record);
  if (port == nullptr || ask.record.join_state == 0) return refuse(std::move(answer), SaStatus::invalidRequest);
  const MulticastBook::Group* group = book.find(ask.record.mgid);
  const bool is_new = group == nullptr;
  if (is_new) {
    if ((ask.record.join_state & JoinState::kKeeps) == 0) return refuse(std::move(answer), SaStatus::invalidRequest);
    if ((ask.mask & kToCreate) != kToCreate) return refuse(std::move(answer), SaStatus::lacksComponents);
    const auto terms = new_terms(ask, requester.subnet.pace(*port), book, requester.subnet.gid_prefix());
    if (!terms || !may_join(requester, *port, *terms)) return refuse(std::move(answer), SaStatus::invalidRequest);
    group = book.create(*terms);
    if (group == nullptr) return refuse(std::move(answer), SaStatus::noResources);
  } else if (!are_terms_as_asked(ask, group->terms) || !may_join(requester, *port, group->terms)) {
    return refuse(std::move(answer), SaStatus::invalidRequest);
  }
  const Mgid mgid = group->terms.mgid;
  const bool by_proxy = requester.port != port;
  if (!book.join(mgid, port->guid, ask.record.join_state, by_proxy)) {
    if (is_new) book.end_unkept(mgid);
    return refuse(std::move(answer), SaStatus::noResources);
  }
  const MulticastBook::Member& member = group->members.at(port->guid);
  give(answer, group->terms, requester.subnet.gid_prefix(), port->guid, member.join_state, member.by_proxy);
  return answer;
}

SaAnswer answer_leave(const Requester& requester, const Mad& request, SaAnswer answer, MulticastBook& book) {
  const Ask ask = read(request, answer);
  if ((ask.mask & kToJoin) != kToJoin) return refuse(std::move(answer), SaStatus::lacksComponents);
  const MulticastBook::Group* const group = book.find(ask.record.mgid);
  const EndPort* const port = port_of(requester.subnet, ask.record);
  const auto invalid = [&] { return refuse(std::move(answer), SaStatus::invalidRequest); };
  if (group == nullptr || port == nullptr) return invalid();
  const auto member = group->members.find(port->guid);
  if (member == group->members.end() || ask.record.join_state == 0) return invalid();
  if ((ask.record.join_state & ~member->second.join_state) != 0) return invalid();
  const bool may_end = requester.owns(*port) || (member->second.by_proxy && requester.has_key(group->terms.key));
  if (!may_end) return invalid();
  const Terms terms = group->terms;
  const bool by_proxy = member->second.by_proxy;
  const auto left = static_cast<std::uint8_t>(member->second.join_state & ~ask.record.join_state);
  book.leave(ask.record.mgid, port->guid, ask.record.join_state);
  give(answer, terms, requester.subnet.gid_prefix(), port->guid, left, by_proxy);
  return answer;
}

SaAnswer answer_groups(const Requester& requester, const Mad& request, SaAnswer answer, const MulticastBook& book,
                       std::size_t at_most) {
  const Ask ask = read(request, answer);
  const Terms& asked = ask.record;
  const std::uint64_t prefix = requester.subnet.gid_prefix();
  const auto take_member = [&](const Terms& terms, Guid port, const MulticastBook::Member& member) {
    const bool fits =
        (!ask.gives(Terms::portGiven) || (port == asked.port && asked.port_prefix == (port.known() ? prefix : 0))) &&
        (!ask.gives(Terms::joinStateGiven) || (member.join_state & asked.join_state) != 0) &&
        (!ask.gives(Terms::proxyGiven) || member.by_proxy == asked.by_proxy);
    if (fits) give(answer, terms, prefix, port, member.join_state, member.by_proxy);
    return answer.record_count < at_most;
  };
  for (const auto& [mgid, group] : book.groups()) {
    if (!requester.has_key(group.terms.key)) continue;
    if (ask.gives(Terms::mgidGiven) && mgid != asked.mgid) continue;
    if (ask.gives(Terms::lidGiven) && group.terms.lid != asked.lid) continue;
    if (ask.gives(Terms::scopeGiven) && group.terms.scope != asked.scope) continue;
    if (!are_terms_as_asked(ask, group.terms)) continue;
    const bool names_itself =
        requester.port != nullptr && ask.gives(Terms::portGiven) && asked.port == requester.port->guid;
    if (!requester.is_trusted && !names_itself) {
      if (!take_member(group.terms, {}, {})) return answer;
      continue;
    }
    if (group.members.empty() && !take_member(group.terms, {}, {})) return answer;
    for (const auto& [port, member] : group.members) {
      if (!requester.is_trusted && port != asked.port) continue;
      if (!take_member(group.terms, port, member)) return answer;
    }
  }
  return answer;
}

bool is_path_to_group(const Mad& request, std::uint64_t component_mask) {
  const PathQuery query = read_path_query(component_mask, sa_data(request));
  return (query.asks(kPathTargetGid) && query.target_prefix >> 56U == 0xff) ||
         (query.asks(kPathTargetLid) && query.target_lid >= kFirstMulticastLid &&
          query.target_lid <= kLastMulticastLid);
}

SaAnswer answer_group_path(const Requester& requester, const Mad& request, SaAnswer answer, const MulticastBook& book) {
  const auto data = sa_data(request);
  const PathQuery query = read_path_query(answer.header.component_mask, data);
  const AdministeredSubnet& subnet = requester.subnet;
  Mgid mgid{};
  std::copy_n(data.begin() + kPathTargetGidAt, mgid.size(), mgid.begin());
  const auto source_is_member = [&](const MulticastBook::Group& group) {
    const std::uint32_t by_gid = query.source_prefix == subnet.gid_prefix() ? subnet.find(query.source_guid) : kNoPort;
    for (const auto& [asks, at] : {std::pair(query.asks(kPathSourceGid), by_gid),
                                   std::pair(query.asks(kPathSourceLid), subnet.find(query.source_lid))}) {
      if (asks && (at == kNoPort || !group.members.contains(subnet.end_ports()[at].guid))) return false;
    }
    return true;
  };
  // As in OpenSM, conditions on MTU, rate and life exclude no group: it has the ones that the answer says, and no others.
  const auto is_wanted = [&](const MulticastBook::Group& group) {
    const Terms& terms = group.terms;
    return requester.has_key(terms.key) && (!query.asks(kPathTargetGid) || terms.mgid == mgid) &&
           (!query.asks(kPathTargetLid) || terms.lid == query.target_lid) && source_is_member(group) &&
           (!query.asks(kPathKey) || query.key == terms.key) &&
           (!query.asks(kPathLevel) || query.level == terms.level) &&
           (!query.asks(kPathTrafficClass) || read_8(data, 48) == terms.traffic_class);
  };
  for (const auto& [of, group] : book.groups()) {
    if (!is_wanted(group)) continue;
    answer.records.assign(data.begin(),
                          data.begin() + kPathRecordBytes);  // what was asked, and what is known beside it
    write_group_path(answer.records, group.terms);
    answer.record_count = 1;
    break;
  }
  return answer;
}

}  // namespace railweave::fabric::infiniband
