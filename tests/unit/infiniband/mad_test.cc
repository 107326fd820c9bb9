// Byte layouts against libibmad: random attributes are decoded by both, what we encode is decoded by it.
#include "fabric/drivers/infiniband/mad/mad.h"

#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/mad.h>

#include "fabric/drivers/infiniband/mad/node_info.h"
#include "fabric/drivers/infiniband/mad/notice.h"
#include "fabric/drivers/infiniband/mad/port_counters.h"
#include "fabric/drivers/infiniband/mad/port_info.h"
#include "fabric/drivers/infiniband/mad/smp.h"
#include "fabric/drivers/infiniband/mad/switch_info.h"
#include "fabric/drivers/infiniband/mad/table_blocks.h"

namespace railweave::fabric::infiniband {
namespace {

constexpr int kCases = 200;

Mad random_mad(std::uint32_t seed) {
  std::mt19937 random(seed);
  Mad mad;
  for (auto& byte : mad) byte = static_cast<std::uint8_t>(random());
  return mad;
}

std::uint32_t field(const void* data, MAD_FIELDS f) { return mad_get_field(const_cast<void*>(data), 0, f); }
std::uint64_t field64(const void* data, MAD_FIELDS f) { return mad_get_field64(const_cast<void*>(data), 0, f); }

TEST(MadHeader, IsReadAsLibibmadReadsIt) {
  for (int i = 0; i < kCases; ++i) {
    Mad mad = random_mad(static_cast<std::uint32_t>(i));
    mad[1] = i % 2 == 0 ? 0x81 : 0x01;
    const MadHeader header = read_header(mad);
    EXPECT_EQ(static_cast<unsigned>(header.management_class), field(mad.data(), IB_MAD_MGMTCLASS_F));
    EXPECT_EQ(static_cast<unsigned>(header.method) & 0x7fU, field(mad.data(), IB_MAD_METHOD_F));
    EXPECT_EQ(static_cast<unsigned>(header.method) >> 7U, field(mad.data(), IB_MAD_RESPONSE_F));
    EXPECT_EQ(header.status, field(mad.data(), i % 2 == 0 ? IB_DRSMP_STATUS_F : IB_MAD_STATUS_F));
    EXPECT_EQ(header.transaction, field64(mad.data(), IB_MAD_TRID_F));
    EXPECT_EQ(static_cast<unsigned>(header.attribute), field(mad.data(), IB_MAD_ATTRID_F));
    EXPECT_EQ(header.modifier, field(mad.data(), IB_MAD_ATTRMOD_F));
  }
}

TEST(Smp, DirectedRouteIsWhatLibibmadExpects) {
  DirectedRoute route;
  for (const std::uint8_t port : {1, 17, 36, 255}) route = route.extended(port);
  const Mad mad = directed_smp(route, MadMethod::set, Attribute::portInfo, 0x01020304, 0x1122334455667788);
  EXPECT_EQ(field(mad.data(), IB_MAD_BASEVER_F), 1U);
  EXPECT_EQ(field(mad.data(), IB_MAD_CLASSVER_F), 1U);
  EXPECT_EQ(field(mad.data(), IB_MAD_MGMTCLASS_F), static_cast<unsigned>(IB_SMI_DIRECT_CLASS));
  EXPECT_EQ(field(mad.data(), IB_MAD_METHOD_F), static_cast<unsigned>(IB_MAD_METHOD_SET));
  EXPECT_EQ(field(mad.data(), IB_MAD_ATTRID_F), static_cast<unsigned>(IB_ATTR_PORT_INFO));
  EXPECT_EQ(field(mad.data(), IB_MAD_ATTRMOD_F), 0x01020304U);
  EXPECT_EQ(field64(mad.data(), IB_MAD_MKEY_F), 0x1122334455667788U);
  EXPECT_EQ(field(mad.data(), IB_DRSMP_HOPCNT_F), 4U);
  EXPECT_EQ(field(mad.data(), IB_DRSMP_HOPPTR_F), 0U);
  EXPECT_EQ(field(mad.data(), IB_DRSMP_DIRECTION_F), 0U);
  EXPECT_EQ(field(mad.data(), IB_DRSMP_DRDLID_F), 0xffffU);
  EXPECT_EQ(field(mad.data(), IB_DRSMP_DRSLID_F), 0xffffU);
  std::uint8_t path[64];
  mad_get_array(const_cast<std::uint8_t*>(mad.data()), 0, IB_DRSMP_PATH_F, path);
  EXPECT_THAT(std::vector<int>(path, path + 6), testing::ElementsAre(0, 1, 17, 36, 255, 0));
}

TEST(Smp, LidRoutedHasItsOwnClass) {
  const Mad mad = lid_routed_smp(MadMethod::get, Attribute::linearForwardingTable, 767);
  EXPECT_EQ(field(mad.data(), IB_MAD_MGMTCLASS_F), static_cast<unsigned>(IB_SMI_CLASS));
  EXPECT_EQ(field(mad.data(), IB_MAD_ATTRID_F), static_cast<unsigned>(IB_ATTR_LINEARFORWTBL));
  EXPECT_EQ(field(mad.data(), IB_MAD_ATTRMOD_F), 767U);
}

TEST(NodeInfo, IsReadAsLibibmadReadsIt) {
  for (int i = 0; i < kCases; ++i) {
    const Mad mad = random_mad(static_cast<std::uint32_t>(i));
    const void* data = mad.data() + kMadDataOffset;
    const NodeInfo info = read_node_info(attribute_bytes(mad));
    EXPECT_EQ(static_cast<unsigned>(info.type), field(data, IB_NODE_TYPE_F));
    EXPECT_EQ(info.ports, field(data, IB_NODE_NPORTS_F));
    EXPECT_EQ(info.system_guid.value(), field64(data, IB_NODE_SYSTEM_GUID_F));
    EXPECT_EQ(info.node_guid.value(), field64(data, IB_NODE_GUID_F));
    EXPECT_EQ(info.port_guid.value(), field64(data, IB_NODE_PORT_GUID_F));
    EXPECT_EQ(info.partition_capacity, field(data, IB_NODE_PARTITION_CAP_F));
    EXPECT_EQ(info.device_id, field(data, IB_NODE_DEVID_F));
    EXPECT_EQ(info.revision, field(data, IB_NODE_REVISION_F));
    EXPECT_EQ(info.local_port, field(data, IB_NODE_LOCAL_PORT_F));
    EXPECT_EQ(info.vendor_id, field(data, IB_NODE_VENDORID_F));
  }
}

TEST(NodeDescription, EndsAtTheFirstNulOrAfter64Bytes) {
  Mad mad{};
  std::memcpy(mad.data() + kMadDataOffset, "node-7 mlx5_0", 13);
  EXPECT_EQ(read_node_description(attribute_bytes(mad)), "node-7 mlx5_0");
  std::memset(mad.data() + kMadDataOffset, 'x', 80);
  EXPECT_EQ(read_node_description(attribute_bytes(mad)), std::string(64, 'x'));
}

void expect_same_port_info(const PortInfo& info, const void* data) {
  EXPECT_EQ(info.lid, field(data, IB_PORT_LID_F));
  EXPECT_EQ(info.sm_lid, field(data, IB_PORT_SMLID_F));
  EXPECT_EQ(info.capabilities, field(data, IB_PORT_CAPMASK_F));
  EXPECT_EQ(info.local_port, field(data, IB_PORT_LOCAL_PORT_F));
  EXPECT_EQ(info.width_enabled, field(data, IB_PORT_LINK_WIDTH_ENABLED_F));
  EXPECT_EQ(info.width_supported, field(data, IB_PORT_LINK_WIDTH_SUPPORTED_F));
  EXPECT_EQ(info.width_active, field(data, IB_PORT_LINK_WIDTH_ACTIVE_F));
  EXPECT_EQ(info.speed_supported, field(data, IB_PORT_LINK_SPEED_SUPPORTED_F));
  EXPECT_EQ(static_cast<unsigned>(info.state), field(data, IB_PORT_STATE_F));
  EXPECT_EQ(static_cast<unsigned>(info.physical_state), field(data, IB_PORT_PHYS_STATE_F));
  EXPECT_EQ(info.lmc, field(data, IB_PORT_LMC_F));
  EXPECT_EQ(info.speed_active, field(data, IB_PORT_LINK_SPEED_ACTIVE_F));
  EXPECT_EQ(info.speed_enabled, field(data, IB_PORT_LINK_SPEED_ENABLED_F));
  EXPECT_EQ(info.neighbor_mtu, field(data, IB_PORT_NEIGHBOR_MTU_F));
  EXPECT_EQ(info.sm_sl, field(data, IB_PORT_SMSL_F));
  EXPECT_EQ(info.vl_capacity, field(data, IB_PORT_VL_CAP_F));
  EXPECT_EQ(info.high_limit, field(data, IB_PORT_VL_HIGH_LIMIT_F));
  EXPECT_EQ(info.arbitration_high_capacity, field(data, IB_PORT_VL_ARBITRATION_HIGH_CAP_F));
  EXPECT_EQ(info.arbitration_low_capacity, field(data, IB_PORT_VL_ARBITRATION_LOW_CAP_F));
  EXPECT_EQ(info.mtu_capacity, field(data, IB_PORT_MTU_CAP_F));
  EXPECT_EQ(info.operational_vls, field(data, IB_PORT_OPER_VLS_F));
  EXPECT_EQ(info.capabilities2, field(data, IB_PORT_CAPMASK2_F));
  EXPECT_EQ(info.extended_speed_active, field(data, IB_PORT_LINK_SPEED_EXT_ACTIVE_F));
  EXPECT_EQ(info.extended_speed_supported, field(data, IB_PORT_LINK_SPEED_EXT_SUPPORTED_F));
  EXPECT_EQ(info.extended_speed_enabled, field(data, IB_PORT_LINK_SPEED_EXT_ENABLED_F));
}

TEST(PortInfo, IsReadAsLibibmadReadsIt) {
  for (int i = 0; i < kCases; ++i) {
    const Mad mad = random_mad(static_cast<std::uint32_t>(i));
    expect_same_port_info(read_port_info(attribute_bytes(mad)), mad.data() + kMadDataOffset);
  }
}

TEST(PortInfo, SettingChangesWhatItNamesAndNothingElse) {
  for (int i = 0; i < kCases; ++i) {
    const Mad mad = random_mad(static_cast<std::uint32_t>(i));
    PortInfo expected = read_port_info(attribute_bytes(mad));
    PortSetting setting{.lid = 0x1234, .sm_lid = 0x4321, .lmc = 5, .neighbor_mtu = 4, .operational_vls = 3};
    setting.high_limit = 7;
    setting.state = PortState::armed;
    const auto data = port_info_to_set(attribute_bytes(mad), setting);
    EXPECT_EQ(field(data.data(), IB_PORT_CLIENT_REREG_F), 0U);
    EXPECT_EQ(field(data.data(), IB_PORT_LINK_DOWN_DEF_F), 0U);
    expected.lid = 0x1234;
    expected.sm_lid = 0x4321;
    expected.lmc = 5;
    expected.neighbor_mtu = 4;
    expected.operational_vls = 3;
    expected.high_limit = 7;
    expected.state = PortState::armed;
    expected.physical_state = PhysicalState::noChange;
    expected.width_enabled = expected.speed_enabled = expected.extended_speed_enabled = 0;
    expect_same_port_info(expected, data.data());
    EXPECT_EQ(field64(data.data(), IB_PORT_MKEY_F), field64(mad.data() + kMadDataOffset, IB_PORT_MKEY_F));
    EXPECT_EQ(field(data.data(), IB_PORT_SUBN_TIMEOUT_F), field(mad.data() + kMadDataOffset, IB_PORT_SUBN_TIMEOUT_F));
  }
}

TEST(PortInfo, LinkIsTheActiveWidthAndSpeed) {
  PortInfo port;
  port.width_active = 2;
  port.speed_active = 4;
  port.extended_speed_active = 8;
  EXPECT_EQ(port.link(false), infiniband_link(4, LinkSpeed::qdr)) << "extended speeds count where there are such";
  EXPECT_EQ(port.link(true), infiniband_link(4, LinkSpeed::ndr));
  port.extended_speed_active = 0;
  port.width_active = 16;
  EXPECT_EQ(port.link(true), infiniband_link(2, LinkSpeed::qdr));
}

TEST(SwitchInfo, IsReadAndSetAsLibibmadReadsIt) {
  for (int i = 0; i < kCases; ++i) {
    const Mad mad = random_mad(static_cast<std::uint32_t>(i));
    const void* data = mad.data() + kMadDataOffset;
    const SwitchInfo info = read_switch_info(attribute_bytes(mad));
    EXPECT_EQ(info.linear_capacity, field(data, IB_SW_LINEAR_FDB_CAP_F));
    EXPECT_EQ(info.multicast_capacity, field(data, IB_SW_MCAST_FDB_CAP_F));
    EXPECT_EQ(info.linear_top, field(data, IB_SW_LINEAR_FDB_TOP_F));
    EXPECT_EQ(info.life_time, field(data, IB_SW_LIFE_TIME_F));
    EXPECT_EQ(info.port_state_change, field(data, IB_SW_STATE_CHANGE_F) != 0);
    EXPECT_EQ(info.partition_enforcement, field(data, IB_SW_PARTITION_ENFORCE_CAP_F));
    EXPECT_EQ(info.enhanced_port_zero, field(data, IB_SW_ENHANCED_PORT0_F) != 0);
    SwitchInfo expected = info;
    expected.linear_top = 4711;
    expected.port_state_change = i % 2 == 0;
    const auto set = switch_info_to_set(attribute_bytes(mad), 4711, i % 2 == 0);
    EXPECT_EQ(read_switch_info(set), expected);
    EXPECT_EQ(field(set.data(), IB_SW_LINEAR_FDB_TOP_F), 4711U);
    EXPECT_EQ(field(set.data(), IB_SW_STATE_CHANGE_F), i % 2 == 0 ? 1U : 0U);
  }
}

TEST(Notice, NamesTheSwitchOfBothTraps) {
  for (int i = 0; i < kCases; ++i) {
    Mad mad = random_mad(static_cast<std::uint32_t>(i));
    void* data = mad.data() + kMadDataOffset;
    mad_set_field(data, 0, IB_NOTICE_TRAP_NUMBER_F, i % 2 == 0 ? 128 : 144);
    const Notice notice = read_notice(attribute_bytes(mad));
    EXPECT_EQ(notice.generic, field(data, IB_NOTICE_IS_GENERIC_F) != 0);
    EXPECT_EQ(notice.type, field(data, IB_NOTICE_TYPE_F));
    EXPECT_EQ(notice.trap, field(data, IB_NOTICE_TRAP_NUMBER_F));
    EXPECT_EQ(notice.issuer_lid, field(data, IB_NOTICE_ISSUER_LID_F));
    EXPECT_EQ(notice.about_lid, field(data, i % 2 == 0 ? IB_NOTICE_DATA_LID_F : IB_NOTICE_DATA_144_LID_F));
  }
}

TEST(PortCounters, AreReadAsLibibmadReadsThem) {
  for (int i = 0; i < kCases; ++i) {
    const Mad mad = random_mad(static_cast<std::uint32_t>(i));
    const void* data = mad.data() + kMadDataOffset;
    const PortCounters c = read_port_counters(mad);
    EXPECT_EQ(c.port, field(data, IB_PC_PORT_SELECT_F));
    EXPECT_EQ(c.symbol_errors, field(data, IB_PC_ERR_SYM_F));
    EXPECT_EQ(c.link_recoveries, field(data, IB_PC_LINK_RECOVERS_F));
    EXPECT_EQ(c.link_downed, field(data, IB_PC_LINK_DOWNED_F));
    EXPECT_EQ(c.receive_errors, field(data, IB_PC_ERR_RCV_F));
    EXPECT_EQ(c.remote_physical_errors, field(data, IB_PC_ERR_PHYSRCV_F));
    EXPECT_EQ(c.relay_errors, field(data, IB_PC_ERR_SWITCH_REL_F));
    EXPECT_EQ(c.transmit_discards, field(data, IB_PC_XMT_DISCARDS_F));
    EXPECT_EQ(c.transmit_constraint_errors, field(data, IB_PC_ERR_XMTCONSTR_F));
    EXPECT_EQ(c.receive_constraint_errors, field(data, IB_PC_ERR_RCVCONSTR_F));
    EXPECT_EQ(c.local_integrity_errors, field(data, IB_PC_ERR_LOCALINTEG_F));
    EXPECT_EQ(c.buffer_overruns, field(data, IB_PC_ERR_EXCESS_OVR_F));
    EXPECT_EQ(c.vl15_dropped, field(data, IB_PC_VL15_DROPPED_F));
    EXPECT_EQ(c.transmit_words, field(data, IB_PC_XMT_BYTES_F));
    EXPECT_EQ(c.receive_words, field(data, IB_PC_RCV_BYTES_F));
    EXPECT_EQ(c.transmit_packets, field(data, IB_PC_XMT_PKTS_F));
    EXPECT_EQ(c.receive_packets, field(data, IB_PC_RCV_PKTS_F));
    EXPECT_EQ(c.transmit_wait, field(data, IB_PC_XMT_WAIT_F));
    const ExtendedPortCounters e = read_extended_port_counters(mad);
    EXPECT_EQ(e.port, field(data, IB_PC_EXT_PORT_SELECT_F));
    EXPECT_EQ(e.transmit_words, field64(data, IB_PC_EXT_XMT_BYTES_F));
    EXPECT_EQ(e.receive_words, field64(data, IB_PC_EXT_RCV_BYTES_F));
    EXPECT_EQ(e.transmit_packets, field64(data, IB_PC_EXT_XMT_PKTS_F));
    EXPECT_EQ(e.receive_packets, field64(data, IB_PC_EXT_RCV_PKTS_F));
    EXPECT_EQ(e.unicast_transmitted, field64(data, IB_PC_EXT_XMT_UPKTS_F));
    EXPECT_EQ(e.unicast_received, field64(data, IB_PC_EXT_RCV_UPKTS_F));
    EXPECT_EQ(e.multicast_transmitted, field64(data, IB_PC_EXT_XMT_MPKTS_F));
    EXPECT_EQ(e.multicast_received, field64(data, IB_PC_EXT_RCV_MPKTS_F));
  }
  const Mad request = counters_request(Attribute::portCountersExtended, 9);
  EXPECT_EQ(field(request.data() + kMadDataOffset, IB_PC_EXT_PORT_SELECT_F), 9U);
  EXPECT_EQ(field(request.data(), IB_MAD_ATTRID_F), static_cast<unsigned>(IB_GSI_PORT_COUNTERS_EXT));
  EXPECT_EQ(field(request.data(), IB_MAD_MGMTCLASS_F), static_cast<unsigned>(IB_PERFORMANCE_CLASS));
}

TEST(TableBlocks, RoundTripWithHighNibblesFirst) {
  Mad mad{};
  SlToVl map{};
  for (std::size_t sl = 0; sl < map.size(); ++sl) map[sl] = static_cast<std::uint8_t>((sl * 7 + 3) % 16);
  write_sl_to_vl(attribute_space(mad), map);
  EXPECT_EQ(mad[kMadDataOffset], 0x3a) << "SL 0 is in the high nibble of the first byte";
  EXPECT_EQ(read_sl_to_vl(attribute_bytes(mad)), map);

  PKeyBlock keys{};
  keys[0] = 0xffff;
  keys[31] = 0x8001;
  write_pkey_block(attribute_space(mad), keys);
  EXPECT_EQ(mad[kMadDataOffset + 62], 0x80);
  EXPECT_EQ(mad[kMadDataOffset + 63], 0x01);
  EXPECT_EQ(read_pkey_block(attribute_bytes(mad)), keys);

  ArbitrationBlock arbitration{};
  arbitration[0] = {2, 255};
  arbitration[31] = {7, 1};
  write_arbitration(attribute_space(mad), arbitration);
  EXPECT_EQ(mad[kMadDataOffset], 2);
  EXPECT_EQ(mad[kMadDataOffset + 1], 255);
  EXPECT_EQ(read_arbitration(attribute_bytes(mad)), arbitration);

  EXPECT_EQ(pkey_modifier(3, 1), 0x00030001U);
  EXPECT_EQ(sl_to_vl_modifier(5, 6), 0x0506U);
  EXPECT_EQ(arbitration_modifier(ArbitrationPart::high, 4), 0x00030004U);
}

TEST(MadStatus, IsSaidInWords) {
  EXPECT_EQ(status_text(0x0001), "busy");
  EXPECT_EQ(status_text(0x001c), "invalid value");
  EXPECT_EQ(status_text(0x000c), "attribute not supported");
  EXPECT_EQ(status_text(0x8100 & 0x7fff), "status 0x100");
}

}  // namespace
}  // namespace railweave::fabric::infiniband
