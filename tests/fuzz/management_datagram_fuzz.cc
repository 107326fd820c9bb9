// Management datagrams as any device on the fabric may send them: every reader takes any 256 bytes, and what is written of what was
// read is read the same. The first byte chooses the reader.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "fabric/base/check.h"
#include "fabric/drivers/infiniband/mad/mad.h"
#include "fabric/drivers/infiniband/mad/node_info.h"
#include "fabric/drivers/infiniband/mad/notice.h"
#include "fabric/drivers/infiniband/mad/port_counters.h"
#include "fabric/drivers/infiniband/mad/port_info.h"
#include "fabric/drivers/infiniband/mad/sm_info.h"
#include "fabric/drivers/infiniband/mad/switch_info.h"
#include "fabric/drivers/infiniband/mad/table_blocks.h"

using namespace railweave;                      // NOLINT
using namespace railweave::fabric::infiniband;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  Mad mad{};
  std::copy_n(data + 1, std::min(size - 1, mad.size()), mad.begin());
  const auto header = read_header(mad);
  (void)header.is_response();
  const auto attribute = attribute_bytes(mad);
  Mad written{};
  switch (data[0] % 12) {
    case 0:
      (void)read_notice(attribute);
      break;
    case 1:
      RAILWEAVE_CHECK(read_node_info(attribute).same_node(read_node_info(attribute)), "a node is itself");
      break;
    case 2:
      RAILWEAVE_CHECK(read_node_description(attribute).size() <= 64, "a description has at most 64 bytes");
      break;
    case 3: {
      const auto info = read_port_info(attribute);
      (void)info.link(true);
      (void)info.link(false);
      break;
    }
    case 4:
      (void)read_port_counters(mad);
      (void)read_extended_port_counters(mad);
      (void)read_counter_abilities(mad);
      break;
    case 5: {
      const auto info = read_sm_info(attribute);
      write_sm_info(attribute_space(written), info);
      RAILWEAVE_CHECK(read_sm_info(attribute_bytes(written)) == info, "what is written is read");
      (void)sm_info_answer(mad, info);
      break;
    }
    case 6:
      (void)switch_info_to_set(attribute, 48 * 64, false);
      (void)read_switch_info(attribute);
      break;
    case 7:
      (void)read_lft_block(attribute);
      break;
    case 8: {
      const auto block = read_pkey_block(attribute);
      write_pkey_block(attribute_space(written), block);
      RAILWEAVE_CHECK(read_pkey_block(attribute_bytes(written)) == block, "what is written is read");
      break;
    }
    case 9: {
      const auto map = read_sl_to_vl(attribute);
      write_sl_to_vl(attribute_space(written), map);
      RAILWEAVE_CHECK(read_sl_to_vl(attribute_bytes(written)) == map, "what is written is read");
      break;
    }
    case 10: {
      const auto block = read_arbitration(attribute);
      write_arbitration(attribute_space(written), block);
      RAILWEAVE_CHECK(read_arbitration(attribute_bytes(written)) == block, "what is written is read");
      break;
    }
    default:
      (void)port_info_to_set(attribute, {});
      (void)status_text(static_cast<std::uint16_t>(size));
  }
  return 0;
}
