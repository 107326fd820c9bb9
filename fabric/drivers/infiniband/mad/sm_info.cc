#include "fabric/drivers/infiniband/mad/sm_info.h"

#include <algorithm>
#include <utility>

#include "fabric/drivers/infiniband/mad/bytes.h"

namespace railweave::fabric::infiniband {
namespace {

constexpr std::size_t kDrSlid = 32, kDrDlid = 34;  // of directed-route SMPs, in the datagram
constexpr std::size_t kStatus = 4;

}  // namespace

SmInfo read_sm_info(AttributeBytes data) {
  return {.guid = Guid(read_64(data, 0)),
          .key = read_64(data, 8),
          .act_count = read_32(data, 16),
          .priority = read_bits(data, 20, 4, 4),
          .state = static_cast<SmState>(read_bits(data, 20, 0, 4))};
}

void write_sm_info(AttributeSpace data, const SmInfo& info) {
  std::ranges::fill(data, std::uint8_t{0});
  write_be(data, 0, 8, info.guid.value());
  write_be(data, 8, 8, info.key);
  write_be(data, 16, 4, info.act_count);
  write_bits(data, 20, 4, 4, info.priority);
  write_bits(data, 20, 0, 4, static_cast<unsigned>(info.state));
}

Mad sm_info_answer(const Mad& question, const SmInfo& info) {
  Mad answer = question;
  answer[3] = static_cast<std::uint8_t>(MadMethod::getResponse);
  answer[kStatus] = answer[kStatus + 1] = 0;
  if (read_header(question).management_class == MadClass::subnetDirected) {
    answer[kStatus] = 0x80;  // D: on its return path
    std::swap_ranges(answer.begin() + kDrSlid, answer.begin() + kDrSlid + 2, answer.begin() + kDrDlid);
  }
  write_sm_info(attribute_space(answer), info);
  return answer;
}

}  // namespace railweave::fabric::infiniband
