#include "fabric/drivers/infiniband/mad/notice.h"

namespace railweave::fabric::infiniband {

Notice read_notice(AttributeBytes data) {
  Notice notice;
  notice.generic = read_bits(data, 0, 7, 1) != 0;
  notice.type = read_bits(data, 0, 0, 7);
  notice.trap = read_16(data, 4);
  notice.issuer_lid = read_16(data, 6);
  // Details start at byte 10; all but trap 128 have two reserved bytes before the LID.
  notice.about_lid = read_16(data, notice.trap == kTrapLinkStateChange ? 10 : 12);
  return notice;
}

}  // namespace railweave::fabric::infiniband
