#include "tests/unit/infiniband/memory_subnet.h"

#include <algorithm>
#include <cstring>

#include <infiniband/mad.h>

namespace railweave::fabric::infiniband {

namespace {

constexpr unsigned kInvalid = 7U << 2U, kAttributeUnsupported = 3U << 2U;
constexpr auto kThereAndBack = std::chrono::microseconds(10);

}  // namespace

int MemorySubnet::add_switch(std::uint64_t guid, unsigned ports, std::string description) {
  Node node;
  node.is_switch = true;
  node.guid = guid;
  node.description = std::move(description);
  node.ports.resize(ports + 1);
  node.ports[0].state = 4;
  node.ports[0].physical_state = 5;
  nodes_.push_back(std::move(node));
  return static_cast<int>(nodes_.size() - 1);
}

int MemorySubnet::add_adapter(std::uint64_t guid, unsigned ports, std::string description) {
  const int n = add_switch(guid, ports, std::move(description));
  node(n).is_switch = false;
  return n;
}

void MemorySubnet::cable(int a, unsigned a_port, int b, unsigned b_port) {
  const auto end = [&](int n, unsigned p, int peer, unsigned peer_port) {
    Port& port = node(n).ports.at(p);
    port.peer = peer, port.peer_port = peer_port;
    port.state = 2, port.physical_state = 5;
    node(n).changed = true;
  };
  end(a, a_port, b, b_port);
  end(b, b_port, a, a_port);
}

void MemorySubnet::cut(int a, unsigned a_port) {
  const auto [peer, peer_port] = std::pair(node(a).ports[a_port].peer, node(a).ports[a_port].peer_port);
  for (const auto& [n, p] : {std::pair(a, a_port), std::pair(peer, peer_port)}) {
    Port& port = node(n).ports[p];
    port.peer = -1, port.state = 1, port.physical_state = 2;
    node(n).changed = true;
  }
}

int MemorySubnet::arrive_at(const Mad& mad, Lid lid, unsigned& port) {
  auto* bytes = const_cast<std::uint8_t*>(mad.data());
  int at = here_;
  port = here_port_;
  if (mad_get_field(bytes, 0, IB_MAD_MGMTCLASS_F) == 0x81) {
    std::uint8_t path[64];
    mad_get_array(bytes, 0, IB_DRSMP_PATH_F, path);
    const unsigned hops = mad_get_field(bytes, 0, IB_DRSMP_HOPCNT_F);
    for (unsigned hop = 1; hop <= hops; ++hop) {
      Node& from = node(at);
      if (hop > 1 && !from.is_switch) return -1;
      if (path[hop] >= from.ports.size() || from.ports[path[hop]].peer < 0) return -1;
      port = from.ports[path[hop]].peer_port;
      at = from.ports[path[hop]].peer;
      if (node(at).silent) return -1;
    }
    return at;
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    for (std::size_t p = nodes_[n].is_switch ? 0 : 1; p < nodes_[n].ports.size(); ++p) {
      if (nodes_[n].ports[p].lid == lid && !nodes_[n].silent) {
        port = static_cast<unsigned>(p);
        return static_cast<int>(n);
      }
      if (nodes_[n].is_switch) break;
    }
  }
  return -1;
}

// What is sent without the port's key and changes something is dropped, and counted.
bool MemorySubnet::is_kept_out(const Mad& mad, int at, unsigned port) {
  auto* bytes = const_cast<std::uint8_t*>(mad.data());
  if (mad_get_field(bytes, 0, IB_MAD_MGMTCLASS_F) == 4) return false;
  Port& held = node(at).ports[node(at).is_switch ? 0 : port];
  if (held.key == 0 || mad_get_field64(bytes, 0, IB_MAD_MKEY_F) == held.key) return false;
  const bool reads = mad_get_field(bytes, 0, IB_MAD_METHOD_F) == IB_MAD_METHOD_GET;
  if (reads && held.key_protection < 2) return false;
  ++held.key_violations;
  return true;
}

void MemorySubnet::answer_key(Port& port, bool set, std::uint64_t shown, const std::uint8_t* wanted,
                              std::uint8_t* data) {
  if (set && port.keeps_key) {
    auto* fields = const_cast<std::uint8_t*>(wanted);
    port.key = mad_get_field64(fields, 0, IB_PORT_MKEY_F);
    port.key_protection = mad_get_field(fields, 0, IB_PORT_MKEY_PROT_BITS_F);
    port.key_lease = mad_get_field(fields, 0, IB_PORT_MKEY_LEASE_F);
  }
  const bool tells = port.key_protection == 0 || shown == port.key || set;
  mad_set_field64(data, 0, IB_PORT_MKEY_F, tells ? port.key : 0);
  mad_set_field(data, 0, IB_PORT_MKEY_PROT_BITS_F, port.key_protection);
  mad_set_field(data, 0, IB_PORT_MKEY_LEASE_F, port.key_lease);
}

Result<void> MemorySubnet::send(const MadAddress& to, const Mad& mad, Milliseconds answer_within) {
  if (broken_) return fail(ErrorKind::unavailable, "test.broken", "broken");
  if (answer_within.count() == 0) return {};
  const auto lost = [&] { return loss_ > 0 && std::uniform_real_distribution<>(0, 1)(random_) < loss_; };
  unsigned port = 0;
  const int at = arrive_at(mad, to.lid, port);
  ReceivedMad back{mad, to.lid, true};
  TimePoint when = now_ + answer_within;
  auto* bytes = back.mad.data();
  const Asked what{at, mad_get_field(bytes, 0, IB_MAD_METHOD_F), mad_get_field(bytes, 0, IB_MAD_ATTRID_F),
                   mad_get_field(bytes, 0, IB_MAD_ATTRMOD_F), mad_get_field(bytes, 0, IB_MAD_MGMTCLASS_F)};
  if (at >= 0 && !lost() && !(lose_if && lose_if(what))) {
    asked.push_back(what);
    if (before_answer) before_answer(what);
    if (is_kept_out(mad, at, port)) {
      arrivals_.emplace(when, back);
      return {};
    }
    const unsigned status = what.management_class == 4
                                ? answer_performance(node(at), what.attribute, bytes + 64)
                                : answer(node(at), port, what.method, what.attribute, what.modifier, bytes + 64);
    Port& keyed = node(at).ports[node(at).is_switch ? 0 : port];
    if (what.management_class != 4 && what.attribute == IB_ATTR_PORT_INFO && status == 0 &&
        (!node(at).is_switch || what.modifier == 0)) {
      auto* sent = const_cast<std::uint8_t*>(mad.data());
      answer_key(keyed, what.method == IB_MAD_METHOD_SET, mad_get_field64(sent, 0, IB_MAD_MKEY_F), sent + 64,
                 bytes + 64);
    }
    if (!lost()) {
      back.timed_out = false;
      when = now_ + kThereAndBack;
      mad_set_field(bytes, 0, IB_MAD_METHOD_F, 1);
      mad_set_field(bytes, 0, IB_MAD_RESPONSE_F, 1);
      const bool directed = mad_get_field(bytes, 0, IB_MAD_MGMTCLASS_F) == 0x81;
      mad_set_field(bytes, 0, directed ? IB_DRSMP_STATUS_F : IB_MAD_STATUS_F, status);
      if (directed) mad_set_field(bytes, 0, IB_DRSMP_DIRECTION_F, 1);
      mad_set_field64(bytes, 0, IB_MAD_TRID_F, (0xabcdULL << 32U) | (mad_get_field64(bytes, 0, IB_MAD_TRID_F)));
    }
  }
  arrivals_.emplace(when, back);
  most_under_way = std::max(most_under_way, arrivals_.size());
  return {};
}

Result<std::optional<ReceivedMad>> MemorySubnet::receive(Milliseconds wait) {
  if (broken_) return fail(ErrorKind::unavailable, "test.broken", "broken");
  if (arrivals_.empty() || arrivals_.begin()->first > now_ + wait) {
    now_ += std::max<TimePoint::duration>(wait, std::chrono::microseconds(1));
    return std::nullopt;
  }
  now_ = std::max(now_, arrivals_.begin()->first);
  ReceivedMad mad = arrivals_.begin()->second;
  arrivals_.erase(arrivals_.begin());
  return mad;
}

unsigned MemorySubnet::answer(Node& node, unsigned port, unsigned method, unsigned attribute, unsigned modifier,
                              std::uint8_t* data) {
  const bool set = method == IB_MAD_METHOD_SET;
  if (set && attribute == node.refuses) return kInvalid;
  switch (attribute) {
    case IB_ATTR_NODE_INFO: {
      std::memset(data, 0, 64);
      std::uint64_t guid = node.guid, port_guid = node.guid + (node.is_switch ? 0 : port);
      mad_set_field(data, 0, IB_NODE_TYPE_F, node.is_switch ? 2 : 1);
      mad_set_field(data, 0, IB_NODE_NPORTS_F, static_cast<unsigned>(node.ports.size() - 1));
      mad_set_field64(data, 0, IB_NODE_GUID_F, guid);
      mad_set_field64(data, 0, IB_NODE_SYSTEM_GUID_F, guid);
      mad_set_field64(data, 0, IB_NODE_PORT_GUID_F, port_guid);
      mad_set_field(data, 0, IB_NODE_PARTITION_CAP_F, 64);
      mad_set_field(data, 0, IB_NODE_LOCAL_PORT_F, port);
      return 0;
    }
    case IB_ATTR_NODE_DESC:
      std::memset(data, 0, 64);
      std::memcpy(data, node.description.data(), std::min<std::size_t>(64, node.description.size()));
      return 0;
    case IB_ATTR_SWITCH_INFO:
      if (!node.is_switch) return kAttributeUnsupported;
      if (set) {
        if (mad_get_field(data, 0, IB_SW_STATE_CHANGE_F) != 0) node.changed = false;
        node.linear_top = mad_get_field(data, 0, IB_SW_LINEAR_FDB_TOP_F);
      }
      std::memset(data, 0, 64);
      mad_set_field(data, 0, IB_SW_LINEAR_FDB_CAP_F, 49152);
      mad_set_field(data, 0, IB_SW_LINEAR_FDB_TOP_F, node.linear_top);
      mad_set_field(data, 0, IB_SW_MCAST_FDB_CAP_F, node.multicast_capacity);
      mad_set_field(data, 0, IB_SW_STATE_CHANGE_F, node.changed ? 1 : 0);
      mad_set_field(data, 0, IB_SW_PARTITION_ENFORCE_CAP_F, 40);
      mad_set_field(data, 0, IB_SW_ENHANCED_PORT0_F, node.enhanced_port_zero ? 1 : 0);
      return 0;
    case IB_ATTR_PORT_INFO:
      return answer_port_info(node, port, set, modifier, data);
    default:
      return answer_table(node, port, set, attribute, modifier, data);
  }
}

unsigned MemorySubnet::answer_performance(Node& node, unsigned attribute, std::uint8_t* data) {
  const unsigned number = mad_get_field(data, 0, IB_PC_PORT_SELECT_F);
  if (attribute == CLASS_PORT_INFO) {
    if (node.performance_abilities == 0) return kAttributeUnsupported;
    std::memset(data, 0, 192);
    mad_set_field(data, 0, IB_CPI_CAPMASK_F, node.performance_abilities);
    return 0;
  }
  const bool extended = attribute == IB_GSI_PORT_COUNTERS_EXT;
  if (attribute != IB_GSI_PORT_COUNTERS && !extended) return kAttributeUnsupported;
  if (extended && (node.performance_abilities & 0x600U) == 0) return kAttributeUnsupported;
  if (number >= node.ports.size()) return kInvalid;
  std::memset(data, 0, 192);
  for (const auto& [field, value] : node.ports[number].counters) {
    const bool of_extended = field >= IB_PC_EXT_FIRST_F && field < IB_PC_EXT_LAST_F;
    if (of_extended != extended) continue;
    if (extended) {
      mad_set_field64(data, 0, static_cast<MAD_FIELDS>(field), value);
    } else {
      mad_set_field(data, 0, static_cast<MAD_FIELDS>(field), static_cast<std::uint32_t>(value));
    }
  }
  return 0;
}

unsigned MemorySubnet::answer_port_info(Node& node, unsigned at, bool set, unsigned modifier, std::uint8_t* data) {
  if (modifier >= node.ports.size()) return kInvalid;
  const unsigned number = modifier == 0 && !node.is_switch ? at : modifier;
  Port& port = node.ports[number];
  if (set) {
    port.lid = mad_get_field(data, 0, IB_PORT_LID_F);
    port.lmc = mad_get_field(data, 0, IB_PORT_LMC_F);
    port.sm_lid = mad_get_field(data, 0, IB_PORT_SMLID_F);
    if (port.keeps_high_limit) port.high_limit = mad_get_field(data, 0, IB_PORT_VL_HIGH_LIMIT_F);
    port.mtu = mad_get_field(data, 0, IB_PORT_NEIGHBOR_MTU_F);
    const unsigned state = mad_get_field(data, 0, IB_PORT_STATE_F);
    if (state > 2) {
      if (port.state + 1 != state) return kInvalid;  // as ibsim: a state that is reached is not set again
      port.state = state;
    }
  }
  std::memset(data, 0, 64);
  mad_set_field(data, 0, IB_PORT_LID_F, port.lid);
  mad_set_field(data, 0, IB_PORT_LMC_F, port.lmc);
  mad_set_field(data, 0, IB_PORT_SMLID_F, port.sm_lid);
  mad_set_field(data, 0, IB_PORT_CAPMASK_F, 1U << 14U);
  mad_set_field(data, 0, IB_PORT_LOCAL_PORT_F, at);
  mad_set_field(data, 0, IB_PORT_STATE_F, port.state);
  mad_set_field(data, 0, IB_PORT_PHYS_STATE_F, port.physical_state);
  mad_set_field(data, 0, IB_PORT_LINK_WIDTH_ACTIVE_F, port.width);
  mad_set_field(data, 0, IB_PORT_LINK_SPEED_ACTIVE_F, port.speed);
  mad_set_field(data, 0, IB_PORT_LINK_SPEED_EXT_ACTIVE_F, port.extended_speed);
  mad_set_field(data, 0, IB_PORT_VL_HIGH_LIMIT_F, port.high_limit);
  mad_set_field(data, 0, IB_PORT_NEIGHBOR_MTU_F, port.mtu);
  mad_set_field(data, 0, IB_PORT_VL_CAP_F, port.vl_capacity);
  mad_set_field(data, 0, IB_PORT_OPER_VLS_F, port.operational_vls);
  mad_set_field(data, 0, IB_PORT_VL_ARBITRATION_LOW_CAP_F, 8);
  mad_set_field(data, 0, IB_PORT_VL_ARBITRATION_HIGH_CAP_F, 8);
  return 0;
}

unsigned MemorySubnet::answer_table(Node& node, unsigned at, bool set, unsigned attribute, unsigned modifier,
                                    std::uint8_t* data) {
  const auto exchange = [&](std::uint8_t* table, std::size_t bytes) {
    set ? std::memcpy(table, data, bytes) : std::memcpy(data, table, bytes);
    return 0U;
  };
  const auto port_of = [&](unsigned number) -> Port* {
    const unsigned n = node.is_switch ? number : at;
    return n < node.ports.size() ? &node.ports[n] : nullptr;
  };
  switch (attribute) {
    case IB_ATTR_LINEARFORWTBL:
      if (!node.is_switch) return kAttributeUnsupported;
      return modifier > 767 ? kInvalid : exchange(node.lft.data() + modifier * std::size_t{64}, 64);
    case IB_ATTR_MULTICASTFORWTBL:
      if (!node.is_switch) return kAttributeUnsupported;
      if ((modifier & 0x1ffU) >= (node.multicast_capacity + 31) / 32) return kInvalid;
      return exchange(node.mft[modifier].data(), 64);
    case IB_ATTR_PKEY_TBL: {
      Port* port = port_of(modifier >> 16U);
      const unsigned block = modifier & 0xffffU;
      if (port == nullptr || block > 1) return kInvalid;
      return exchange(reinterpret_cast<std::uint8_t*>(port->pkeys.data() + 32UL * block), 64);
    }
    case IB_ATTR_SLVL_TABLE: {
      Port* port = port_of(modifier & 0xffU);
      return port == nullptr ? kInvalid : exchange(port->sl_to_vl[modifier >> 8U & 0xffU].data(), 8);
    }
    case IB_ATTR_VL_ARBITRATION: {
      Port* port = port_of(modifier & 0xffU);
      return port == nullptr ? kInvalid : exchange(port->arbitration[modifier >> 16U].data(), 64);
    }
    default:
      return kAttributeUnsupported;
  }
}

}  // namespace railweave::fabric::infiniband
