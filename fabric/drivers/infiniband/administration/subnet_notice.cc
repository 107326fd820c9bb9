#include "fabric/drivers/infiniband/administration/subnet_notice.h"

#include <algorithm>
#include <map>

namespace railweave::fabric::infiniband {
namespace {

constexpr std::size_t kDetailsGid = 16, kIssuerGid = 64;
using EndPort = AdministeredSubnet::EndPort;

void write_issuer(SubnetNotice& notice, const AdministeredSubnet& subnet, Lid lid) {
  const std::uint32_t at = subnet.find(lid);
  write_be(notice.bytes, kIssuerGid, 8, subnet.gid_prefix());
  if (at != AdministeredSubnet::kNone) write_be(notice.bytes, kIssuerGid + 8, 8, subnet.end_ports()[at].guid.value());
}

// What the administration says itself.
SubnetNotice own_notice(const AdministeredSubnet& subnet, std::uint16_t trap) {
  constexpr std::uint8_t kGeneric = 0x80, kSubnetManagement = 3;
  constexpr std::uint32_t kManager = 4;
  SubnetNotice notice;
  notice.bytes[0] = kGeneric | kSubnetManagement;
  write_be(notice.bytes, 1, 3, kManager);
  write_be(notice.bytes, 4, 2, trap);
  write_be(notice.bytes, 6, 2, subnet.manager().lid);
  write_issuer(notice, subnet, subnet.manager().lid);
  return notice;
}

std::map<Guid, const EndPort*> in_service(const AdministeredSubnet& subnet) {
  std::map<Guid, const EndPort*> found;
  for (const EndPort& end : subnet.end_ports()) {
    const AdministeredSubnet::Node& node = subnet.nodes()[end.node];
    const auto& port = node.ports[end.number];
    const bool has_link = port.peer != AdministeredSubnet::kNone && port.info.state == PortState::active;
    if (node.is_switch() || has_link) found.emplace(end.guid, &end);
  }
  return found;
}

void add_missing(const AdministeredSubnet& of, const AdministeredSubnet& in, const AdministeredSubnet& now,
                 std::uint16_t trap, std::vector<SubnetNotice>& notices) {
  const auto others = in_service(in);
  for (const auto& [guid, end] : in_service(of)) {
    if (others.contains(guid)) continue;
    SubnetNotice& notice = notices.emplace_back(own_notice(now, trap));
    write_be(notice.bytes, kDetailsGid, 8, now.gid_prefix());
    write_be(notice.bytes, kDetailsGid + 8, 8, guid.value());
    notice.keys = of.keys(*end);
  }
}

}  // namespace

bool SubnetNotice::is_generic() const { return read_bits(bytes, 0, 7, 1) != 0; }
std::uint8_t SubnetNotice::type() const { return read_bits(bytes, 0, 0, 7); }
std::uint32_t SubnetNotice::producer() const { return static_cast<std::uint32_t>(read_be(bytes, 1, 3)); }
std::uint16_t SubnetNotice::trap() const { return read_16(bytes, 4); }
Lid SubnetNotice::issuer_lid() const { return read_16(bytes, 6); }
std::uint64_t SubnetNotice::issuer_prefix() const { return read_64(bytes, kIssuerGid); }
Guid SubnetNotice::issuer() const { return Guid(read_64(bytes, kIssuerGid + 8)); }

std::optional<SubnetNotice> forwarded(const AdministeredSubnet& subnet, std::span<const std::uint8_t, 64> trap,
                                      Lid source) {
  const Lid lid = source != 0 ? source : subnet.manager().lid;  // 0: of the port that it came in by
  const std::uint32_t at = subnet.find(lid);
  if (at == AdministeredSubnet::kNone) return std::nullopt;
  SubnetNotice notice;
  std::ranges::copy(trap, notice.bytes.begin());
  write_issuer(notice, subnet, lid);
  notice.keys = subnet.keys(subnet.end_ports()[at]);
  return notice;
}

std::vector<SubnetNotice> port_changes(const AdministeredSubnet& before, const AdministeredSubnet& now) {
  std::vector<SubnetNotice> notices;
  add_missing(before, now, now, SubnetNotice::kOutOfService, notices);
  add_missing(now, before, now, SubnetNotice::kInService, notices);
  return notices;
}

SubnetNotice group_change(const AdministeredSubnet& subnet, const Mgid& mgid, std::uint16_t key, bool is_created) {
  SubnetNotice notice = own_notice(subnet, is_created ? SubnetNotice::kGroupCreated : SubnetNotice::kGroupDeleted);
  std::ranges::copy(mgid, notice.bytes.begin() + kDetailsGid);
  notice.keys = {static_cast<std::uint16_t>(key | kFullMember)};
  return notice;
}

}  // namespace railweave::fabric::infiniband
