#include "services/railweave/views/link_end.h"

namespace railweave::cli {

std::string link_end_text(const Json& end) {
  if (field(end, "site").is_string()) return text_of(end, "site");
  if (field(end, "switch").is_string()) return text_of(end, "switch");
  if (field(end, "node").is_string()) {
    const std::string detail = field(end, "device").is_string() ? text_of(end, "device") : "GPU " + text_of(end, "gpu");
    return text_of(end, "node") + " " + detail;
  }
  return field(end, "nvlinkDomain").is_string() ? text_of(end, "nvlinkDomain") : text_of(end, "device");
}

}  // namespace railweave::cli
