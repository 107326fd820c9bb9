#include "fabric/drivers/infiniband/administration/multicast_record.h"

#include <algorithm>

namespace railweave::fabric::infiniband {

MulticastRecord read_multicast_record(std::span<const std::uint8_t, kSaDataBytes> data) {
  MulticastRecord record;
  std::copy_n(data.begin(), record.mgid.size(), record.mgid.begin());
  record.port_prefix = read_64(data, 16);
  record.port = Guid(read_64(data, 24));
  record.queue_key = read_32(data, 32);
  record.lid = read_16(data, 36);
  record.mtu_selector = read_bits(data, 38, 6, 2);
  record.mtu = read_bits(data, 38, 0, 6);
  record.traffic_class = read_8(data, 39);
  record.key = read_16(data, 40);
  record.rate_selector = read_bits(data, 42, 6, 2);
  record.rate = read_bits(data, 42, 0, 6);
  record.life_selector = read_bits(data, 43, 6, 2);
  record.life = read_bits(data, 43, 0, 6);
  record.level = read_bits(data, 44, 4, 4);
  record.flow_label = read_32(data, 44) >> 8U & 0xfffffU;
  record.hop_limit = read_8(data, 47);
  record.scope = read_bits(data, 48, 4, 4);
  record.join_state = read_bits(data, 48, 0, 4);
  record.by_proxy = read_bits(data, 49, 7, 1) != 0;
  return record;
}

void write_multicast_record(std::span<std::uint8_t, kMulticastRecordBytes> to, const MulticastRecord& record) {
  std::ranges::fill(to, std::uint8_t{0});
  std::ranges::copy(record.mgid, to.begin());
  write_be(to, 16, 8, record.port_prefix);
  write_be(to, 24, 8, record.port.value());
  write_be(to, 32, 4, record.queue_key);
  write_be(to, 36, 2, record.lid);
  write_be(to, 38, 1, unsigned{record.mtu_selector} << 6U | record.mtu);
  write_be(to, 39, 1, record.traffic_class);
  write_be(to, 40, 2, record.key);
  write_be(to, 42, 1, unsigned{record.rate_selector} << 6U | record.rate);
  write_be(to, 43, 1, unsigned{record.life_selector} << 6U | record.life);
  write_be(to, 44, 4, std::uint64_t{record.level} << 28U | std::uint64_t{record.flow_label} << 8U | record.hop_limit);
  write_be(to, 48, 1, unsigned{record.scope} << 4U | record.join_state);
  write_bits(to, 49, 7, 1, record.by_proxy ? 1 : 0);
}

}  // namespace railweave::fabric::infiniband
