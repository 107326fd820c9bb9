#include "fabric/drivers/infiniband/administration/inform_info.h"

#include <algorithm>

#include "fabric/drivers/infiniband/mad/bytes.h"

namespace railweave::fabric::infiniband {

InformInfo read_inform_info(std::span<const std::uint8_t> data) {
  return {.gid_prefix = read_64(data, 0),
          .gid = Guid(read_64(data, 8)),
          .first_lid = read_16(data, 16),
          .last_lid = read_16(data, 18),
          .is_generic = read_8(data, 22) != 0,
          .subscribe = read_8(data, 23),
          .type = read_16(data, 24),
          .trap = read_16(data, 26),
          .queue_pair = read_32(data, 28) >> 8U,
          .response_time = read_bits(data, 31, 0, 5),
          .producer = read_32(data, 32) & InformInfo::kAnyProducer};
}

void write_inform_info(std::span<std::uint8_t> to, const InformInfo& info) {
  std::ranges::fill(to.first(InformInfo::kBytes), std::uint8_t{0});
  write_be(to, 0, 8, info.gid_prefix);
  write_be(to, 8, 8, info.gid.value());
  write_be(to, 16, 2, info.first_lid);
  write_be(to, 18, 2, info.last_lid);
  write_be(to, 22, 1, info.is_generic ? 1 : 0);
  write_be(to, 23, 1, info.subscribe);
  write_be(to, 24, 2, info.type);
  write_be(to, 26, 2, info.trap);
  write_be(to, 28, 4, info.queue_pair << 8U | info.response_time);
  write_be(to, 32, 4, info.producer);
}

}  // namespace railweave::fabric::infiniband
